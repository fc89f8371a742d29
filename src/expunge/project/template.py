"""The project file that `expunge init` writes: every table, what it is for, and what to choose."""

from string import Template

OURS = Template("""\
workload = "$workload"        # ours: data, model and training by name""")

OWN = """\
# workload = "digits-mlp"       # one of ours instead of [model] and [data] below"""

_OWN_TABLES = """\
[model]                         # your own functions, as package.module:function
factory = "my_project:model"    # model() → torch.nn.Module
train = "my_project:train"      # train(stream, seed) → the trained module; all chance from the seed
# loss = "my_project:loss"      # loss(model, batch) → scalar; default: cross-entropy of (inputs, labels)
# weights = "model.safetensors" # the trained weights, if you have them; else they are trained
# public = ["backbone.*"]       # frozen parameters and buffers that never saw the data

[data]
dataset = "my_project:dataset"  # dataset() → training samples by index
test = "my_project:test"        # test() → test samples by index
batch_size = 64
"""

_OUR_TABLES = """\
[data]
# folder = "data"               # where the workload's data lie; default $EXPUNGE_DATA, else ~/.cache/expunge
batch_size = 64
"""

_FILE = Template("""\
# A project of Expunge: what should be forgotten, how surely, and by which means. `expunge run` does the rest.
# A line that begins with # shows a setting that may be left out, with its default or an example.

[project]
name = "$name"
$source
seed = 0                        # of the training run
# device = "cpu"
# threads = 2                   # of torch; default: its own choice
# folder = "run"                # where every stage leaves its files, beside this one

$tables
[deletion]                      # one of the three
random = 0.1                    # a random fraction
# class = 3                     # every sample with this label
# file = "forget.txt"           # sample indices
# seed = 1000                   # draws the random fraction; those below the number of pairs belong to the calibration

[target]                        # (ε, δ): a small ε promises more, and costs more accuracy
epsilon = 30.0
delta = 1e-5                    # well below 1 / number of samples
# accountant = "gaussian"       # exact; "renyi" is the paper's, and asks for more noise

[calibration]                   # how far apart trained and retrained models lie
pairs = 10                      # n pairs support a failure probability of 1/(n+1), and nothing smaller
# failure = 0.1                 # to support, if not the smallest
# safety_factor = 1.0
# workers = 1                   # processes
# threads = 1                   # per training run
# every = 100                   # of a workload: steps between two looks at the gap, for its trajectory
# proximity = "proximity.json"  # a calibration made before, instead of pairs

# [clean]                       # training on retained data before the noise: the gap that counts is the one after it
# steps = 60
# optimizer = "lbfgs"           # sgd, adam, adamw, lbfgs (a step is then an iteration)
# lr = 1.0
# whiten = 2000                 # of lbfgs on a linear head: it then needs a fraction of the iterations

# [reset]                       # keep and noise the core of every weight matrix, reset the rest: far less noise
# rank = 20                     # of the core; then [mechanism] design = "Whole"
# steps = 100                   # on retained data from the public initialisation: they find the core's directions
# optimizer = "adam"
# lr = 0.001
# rest = "run"                  # the rest becomes where these steps end; or "reference", where they begin

[mechanism]                     # the noisy steps
# design = "Permutation"        # Whole, RandomRotation, FastRotation, Permutation, LayerCycle, HeadBody
# blocks = 4
clip = 1.0                      # gradient clip of the whole vector, or a list, one for each block; 0: no gradient steps
step_size = 0.01
weight_decay = 10.0             # step_size × weight_decay below 1
steps = 1                       # per block, or "best"

[fine_tune]                     # training on retained data after the noise: free of cost in (ε, δ)
steps = 100
optimizer = "sgd"               # sgd, adam, adamw
lr = 0.05
# momentum = 0.9
# weight_decay = 0.0
# schedule = "cosine"           # constant, cosine

[audit]                         # what the new model is held against
# baselines = ["retrain", "from_public", "from_public_noised", "output_perturbation"]
# retrained = 1                 # retrained models in all; more sharpen the attacks that learn from them

[report]
# accuracy_every = 20           # steps between two looks at the test accuracy; 0: never
""")


def text(*, name: str, workload: str | None) -> str:
    """A whole file, for a workload of ours or for functions of the user's."""
    source = OWN if workload is None else OURS.substitute(workload=workload)
    tables = _OWN_TABLES if workload is None else _OUR_TABLES
    return _FILE.substitute(name=name, source=source, tables=tables)
