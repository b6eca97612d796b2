#!/usr/bin/python3
"""PyTorch's half of the comparison (gyre_side.cc has the other), and the comparison.

  torch_side.py train DIR [--precision float32|bf16] [--threads N]
  torch_side.py compare DIR CURVE CURVE      e.g. gyre-bf16 torch-bf16

`train` reads the initial weights and the batches that gyre-parity left in DIR, trains a decoder
written here from its definition with PyTorch's own autograd, AdamW and clipping, and writes
torch-PRECISION.tsv and .f32 as gyre-parity does. `compare` prints how far two curves and their
final weights lie apart, and writes CURVE-CURVE.tsv.
"""

import argparse
import json
import math
import pathlib
import time

import numpy
import torch
import torch.nn.functional as F


def read_tensors(folder, job, name):
    values = torch.from_numpy(numpy.fromfile(folder / f"{name}.f32", dtype=numpy.float32))
    tensors, at = {}, 0
    for tensor in job["tensors"]:
        count = math.prod(tensor["shape"])
        tensors[tensor["name"]] = values[at : at + count].reshape(tensor["shape"]).clone()
        at += count
    assert at == len(values), f"{name}.f32 has {len(values)} numbers, not {at}"
    return tensors


def rms_norm(x, weight, epsilon):
    # In float32 also under autocast, as Gyre and the Hugging Face models do.
    x = x.float()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * weight


class Llama:
    """A llama with tied embeddings: its loss from tokens (B, T) and targets (B, T)."""

    def __init__(self, model, position, context, weights):
        assert model["model_type"] == "llama" and model["tie_word_embeddings"]
        assert position["type"] == "rope" and position["scaling"] is None
        self.model, self.weights = model, weights
        half = model["head_dim"] // 2
        exponent = torch.arange(half, dtype=torch.float64) / half
        places = torch.arange(context, dtype=torch.float64)
        angle = torch.outer(places, position["theta"] ** -exponent)
        self.cosine, self.sine = angle.cos().float(), angle.sin().float()
        self.future = torch.ones(context, context, dtype=torch.bool).triu(1)

    def rotate(self, x):  # (B, H, T, d): pairs (i, i + d/2)
        a, b = x.float().chunk(2, -1)
        turned = (a * self.cosine - b * self.sine, b * self.cosine + a * self.sine)
        return torch.cat(turned, -1).to(x.dtype)

    def attention(self, x, layer):
        rows, length, _ = x.shape
        heads = lambda y: y.reshape(rows, length, -1, self.model["head_dim"]).transpose(1, 2)
        q, k, v = (heads(x @ layer(f"self_attn.{p}_proj").T) for p in "qkv")
        logits = self.rotate(q) @ self.rotate(k).transpose(2, 3) / math.sqrt(q.shape[-1])
        weights = logits.float().masked_fill(self.future, -math.inf).softmax(-1).to(v.dtype)
        return (weights @ v).transpose(1, 2).reshape(rows, length, -1) @ layer("self_attn.o_proj").T

    def mlp(self, x, layer):
        gate = F.silu(x @ layer("mlp.gate_proj").T)
        return (gate * (x @ layer("mlp.up_proj").T)) @ layer("mlp.down_proj").T

    def loss(self, tokens, targets):
        epsilon = self.model["rms_norm_eps"]
        embedding = self.weights["model.embed_tokens.weight"]
        x = F.embedding(tokens, embedding)
        for l in range(self.model["num_hidden_layers"]):
            layer = lambda name: self.weights[f"model.layers.{l}.{name}.weight"]
            x = x + self.attention(rms_norm(x, layer("input_layernorm"), epsilon), layer)
            x = x + self.mlp(rms_norm(x, layer("post_attention_layernorm"), epsilon), layer)
        logits = rms_norm(x, self.weights["model.norm.weight"], epsilon) @ embedding.T
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def learning_rate(train, steps, step):
    """Up in a line over the warm-up, then half a cosine down."""
    tokens, budget = step * train["batch_tokens"], steps * train["batch_tokens"]
    peak, schedule = train["optimizer"]["lr"], train["schedule"]
    warmup, last = schedule["warmup_tokens"], schedule["final_lr_fraction"]
    if tokens < warmup:
        return peak * tokens / warmup
    progress = (tokens - warmup) / (budget - warmup)
    return peak * (last + (1 - last) * (1 + math.cos(math.pi * progress)) / 2)


def train(folder, precision, threads):
    curve = f"torch-{precision}"
    torch.set_num_threads(threads)
    job = json.loads((folder / "job.json").read_text())
    config, context = job["config"], job["config"]["data"]["context"]
    rows = config["train"]["batch_tokens"] // context
    steps = config["train"]["tokens"] // config["train"]["batch_tokens"]
    batches = numpy.fromfile(folder / "batches.i32", dtype=numpy.int32)
    batches = torch.from_numpy(batches).long().reshape(steps, 2, rows, context)
    weights = read_tensors(folder, job, "weights")
    for weight in weights.values():
        weight.requires_grad_()
    model = Llama(config["model"], config["position"], context, weights)

    options = config["train"]["optimizer"]
    matrices = [w for w in weights.values() if w.dim() == 2]
    norms = [w for w in weights.values() if w.dim() == 1]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": options["weight_decay"]},
            {"params": norms, "weight_decay": 0},
        ],
        betas=options["betas"],
        eps=options["eps"],
    )
    began = time.monotonic()
    with open(folder / f"{curve}.tsv", "w") as out:
        print("step\tlearning_rate\tloss\tgradient_norm", file=out)
        for step in range(1, steps + 1):
            rate = learning_rate(config["train"], steps, step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
                loss = model.loss(*batches[step - 1])
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(weights.values(), options["clip_norm"])
            optimizer.step()
            print(f"{step}\t{rate:.9g}\t{loss.item():.9g}\t{norm.item():.9g}", file=out, flush=True)
            if step % 20 == 0:
                speed = step * config["train"]["batch_tokens"] / (time.monotonic() - began)
                print(f"step {step}: loss {loss.item():.6f}, {speed:.0f} tokens/s", flush=True)
    flat = [weights[tensor["name"]].detach().flatten().numpy() for tensor in job["tensors"]]
    numpy.concatenate(flat).tofile(folder / f"{curve}.f32")


def compare(folder, names):
    a, b = (numpy.loadtxt(folder / f"{name}.tsv", skiprows=1, ndmin=2) for name in names)
    assert a.shape == b.shape and (a[:, 0] == b[:, 0]).all(), "curves of different jobs"
    rate = numpy.abs(a[:, 1] - b[:, 1]).max() / a[:, 1].max()
    assert rate < 1e-7, f"the learning rates differ by {rate}"
    loss = numpy.abs(a[:, 2] - b[:, 2])
    table = numpy.column_stack([a[:, 0], loss])
    numpy.savetxt(folder / f"{names[0]}-{names[1]}.tsv", table, fmt=["%d", "%.6g"], delimiter="\t",
                  header="step\tdifference", comments="")
    print(f"{names[0]} and {names[1]}: {len(a)} steps, loss {a[0, 2]:.4f} to {a[-1, 2]:.4f}")
    for first, last in [(1, 10), (11, 100), (101, len(a))]:
        part = loss[first - 1 : last]
        if len(part):
            at = first + part.argmax()
            print(f"  steps {first} to {min(last, len(a))}: largest difference of the loss "
                  f"{part.max():.2g} (step {at}), mean {part.mean():.2g}")
    norm = numpy.abs(a[:, 3] / b[:, 3] - 1)
    print(f"  gradient norms: largest relative difference {norm.max():.2g} "
          f"(step {1 + norm.argmax()})")
    weights = [*names, "weights"]
    x, y, start = (numpy.fromfile(folder / f"{w}.f32", dtype=numpy.float32).astype(float)
                   for w in weights)
    distance, way = numpy.linalg.norm(x - y), numpy.linalg.norm(x - start)
    print(f"  final weights: {distance:.3g} apart, after a way of {way:.3g} from the first ones")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    trains = commands.add_parser("train")
    trains.add_argument("folder", type=pathlib.Path)
    trains.add_argument("--precision", choices=["float32", "bf16"], default="float32")
    trains.add_argument("--threads", type=int, default=2)
    compares = commands.add_parser("compare")
    compares.add_argument("folder", type=pathlib.Path)
    compares.add_argument("curves", nargs=2)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.folder, given.curves)
    train(given.folder, given.precision, given.threads)


if __name__ == "__main__":
    main()
