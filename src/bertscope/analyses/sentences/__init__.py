"""`sentences`: do the vectors of whole texts follow what people say of their meanings?"""
