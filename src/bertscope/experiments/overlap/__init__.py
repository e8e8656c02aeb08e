"""`overlap`: do lotteries on different tasks find the same heads and MLPs?"""
