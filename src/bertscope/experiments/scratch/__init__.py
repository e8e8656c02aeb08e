"""`scratch`: trainings with and without pretraining; `untuned` is the arm without any."""
