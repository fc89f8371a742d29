"""Every command, and what its --help says first: what it is for, and how it is called. Options follow from its signature."""

STAGES = ("train", "calibrate", "plan", "unlearn", "verify", "audit", "report")
READERS = ("account", "recertify", "compare")

COMMANDS = {
    "init": (
        "A commented project file to begin with.",
        "Without --workload it names functions of your own, which you write; the comments say what each must do.\n\n"
        "Example: `expunge init --workload digits-mlp`",
    ),
    "run": (
        "A project from training to the report; each stage only when something changed.",
        "The stages are train, calibrate, plan, unlearn, verify, audit, report. What was interrupted goes on from where it "
        "was; run it again.\n\nExample: `expunge run verify --project expunge.toml`",
    ),
    "demo": (
        "All of it on a small data set, in under two minutes.",
        "Two requests on one model: a random tenth of the samples, and a whole class. Each ends in a page: demo/report.html "
        "and demo/class/report.html.\n\nExample: `expunge demo --workload mnist --data-dir data`",
    ),
    "plan": (
        "The noise that a privacy target asks for, beside its alternatives.",
        "Example: `expunge plan --epsilon 30 --delta 1e-5 --proximity 0.5 --clip 0 --step-size 1 --weight-decay 0.4 "
        "--parameters 26122`",
    ),
    "choose": (
        "Which mechanism for a project, tried on models and requests of their own; or retraining.",
        "Reads a project file. Example: `expunge choose --project expunge.toml --budget 300`",
    ),
    "account": (
        "What a ledger of blocks and steps costs.",
        "Needs neither the model nor torch.\n\nExample: `expunge account ledger.json --proximity 0.5 --delta 1e-5`",
    ),
    "train": (
        "A model of one of the workloads, from data to weights.",
        "The same command gives the same weights. Your own models you train yourself.\n\n"
        "Example: `expunge train --workload digits-mlp --output model.safetensors`",
    ),
    "calibrate": (
        "How far apart trained and retrained models lie, from coupled training pairs.",
        "Do this before any request arrives. n pairs support a failure probability of 1/(n+1), and nothing smaller.\n\n"
        "Example: `expunge calibrate --workload digits-mlp --deletion random:0.1 --pairs 10`",
    ),
    "unlearn": (
        "Plan, run and certify.",
        "Your model, data and loss are functions, named as package.module:function; they are found from the current folder. "
        "What comes out can be checked with `expunge verify`.\n\n"
        "Example: `expunge unlearn --model shop:model --weights trained.pt --data shop:retained --forget forget.txt "
        "--proximity proximity.json --epsilon 30 --delta 1e-5 --clip 0 --step-size 0 --fine-tune-steps 200`",
    ),
    "requests": (
        "Deletion requests one after another on a head, and the ledger of them.",
        "For a linear head on features of a public backbone. The first call trains and needs --data, --epsilon, --delta, "
        "--l2 and --gradient; a later one with --forget is a request; one without verifies the ledger and shows it.\n\n"
        "Example: `expunge requests shop --data shop:samples --forget forget.txt`",
    ),
    "verify": (
        "Check a certificate, alone or against weights.",
        "Needs neither data nor the training code, and no network. Without --weights only the document is checked, without "
        "--key the signature is not. Exit code 0: valid, 1: not valid, 2: a file that cannot be read.\n\n"
        "Example: `expunge verify certificate.json --weights model.safetensors`",
    ),
    "audit": (
        "What an attacker or a critic sees in an unlearned model.",
        "Accuracies, distance to retraining, membership inference, a lower bound on ε. Every model is a file of weights, or "
        "of outputs that --save wrote; outputs alone need neither --model nor data. Exit code 1: a certificate is violated."
        "\n\nExample: `expunge audit unlearned.safetensors --workload digits-mlp --deletion random:0.1 "
        "--retrained retrained.safetensors --certificate certificate.json`",
    ),
    "compare": (
        "Many ways to unlearn, held against retraining.",
        "All of them begin with the same trained models. Finished cells are kept: the same command goes on after an "
        "interruption.\n\nExample: `expunge compare --workload digits-mlp --deletion class:5 --seeds 3 --epsilon 10`",
    ),
    "reproduce": (
        "The paper's tables and figures, measured again.",
        "`expunge reproduce --list` shows them.\n\nExample: `expunge reproduce mnist-random10 --scale smoke`",
    ),
    "recertify": (
        "What a finished run is worth under another proximity.",
        "The model is not touched, and need not be there.\n\n"
        "Example: `expunge recertify certificate.json --proximity 0.65`",
    ),
    "report": (
        "Results as one page, and the same figures as files.",
        "The page opens without a network, on any screen.\n\n"
        "Example: `expunge report run/results.json --figures figures`",
    ),
}


def says(name: str) -> str:
    """What --help says above the options."""
    summary, more = COMMANDS[name]
    if name in STAGES:
        project = (
            "With --project FILE it is that stage of the project, and of the options only --quiet and --json remain."
        )
    else:
        project = "With --project FILE, what the project says need not be given." if name in READERS else ""
    return "\n\n".join(filter(None, (summary, more, project)))
