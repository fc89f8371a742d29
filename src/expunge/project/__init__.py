"""A project: one file that says what is wanted, and the stages that get it done.

`settings.load` reads the file, `stages.STAGES` lists the stages, `pipeline.run` carries them out. Nothing here imports torch
before a stage needs it.
"""
