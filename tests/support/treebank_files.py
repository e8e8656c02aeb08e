"""Sentences as treebanks write them: dependencies, brackets, CoNLL-U."""

from __future__ import annotations

from corpora import conllu

DP = "Mr.\tNNP\t2\nVinken\tNNP\t3\neats\tVBZ\t0\n-LRB-\t-LRB-\t3\n\n1\\/2\tCD\t0\n"
MRG = """
( (S (NP-SBJ=1 (NNP Mr.) (NNP Vinken) )
     (VP (VBZ is) (NP (-NONE- *T*-1) ) (`` ``) (ADJP-PRD (JJ old) )) (. .) ))

( (X (CD 1\\/2) ))
"""
PLAIN = conllu("Dogs NOUN 2 nsubj", "bark VERB 0 root SpaceAfter=No", ". PUNCT 2 punct")
HARD = """# newdoc id = d
# sent_id = hard-1
# a comment without a value
# text_en = They don't know, it is = said.
1\tThey\tthey\tPRON\tPRP\tCase=Nom\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tAUX\tVBP\tMood=Ind\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tknow\tknow\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root|5:x\tSpaceAfter=No
4.1\tknown\tknow\tVERB\tVBN\t_\t_\t_\t0:root\tCopyOf=4
5\t_\t_\tPUNCT\t:\t_\t4\tpunct\t4:punct\tSpaceAfter=No

"""
