"""The main job on toy worlds: does the hub show what it says?"""
