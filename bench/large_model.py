#!/usr/bin/env python3
"""A Hugging Face folder of made-up weights, larger than many memories, and what it takes to look at.

    bench/large_model.py /tmp/large --gyre build/release/bin/gyre

writes a model with the shapes of Llama 3.2 3B (6.4 GB of bfloat16 in shards, unless the folder is there already; --layers and
the others change it), runs `gyre analyze` on --windows windows of --context random tokens, and prints time and the largest
resident memory of that process. Needs nothing but Python.
"""
import argparse, array, json, os, random, resource, struct, subprocess, sys, time


def tensors(a):
    h, q, k = a.hidden, a.heads * a.head_dim, a.kv_heads * a.head_dim
    yield "model.embed_tokens.weight", [a.vocab, h]
    for l in range(a.layers):
        p = f"model.layers.{l}."
        yield p + "input_layernorm.weight", [h]
        for name, shape in (("q", [q, h]), ("k", [k, h]), ("v", [k, h]), ("o", [h, q])):
            yield p + f"self_attn.{name}_proj.weight", shape
        yield p + "post_attention_layernorm.weight", [h]
        for name, shape in (("gate", [a.inner, h]), ("up", [a.inner, h]), ("down", [h, a.inner])):
            yield p + f"mlp.{name}_proj.weight", shape
    yield "model.norm.weight", [h]


def size(shape):
    n = 2
    for s in shape:
        n *= s
    return n


def write_shard(path, part, block):
    header, at = {}, 0
    for name, shape in part:
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size(shape)]}
        at += size(shape)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, shape in part:
            left = size(shape)
            if len(shape) == 1:  # norms: ones
                f.write(struct.pack("<H", 0x3F80) * (left // 2))
                continue
            begin = 2 * random.randrange(len(block) // 2)  # no two matrices are alike
            while left:
                piece = block[begin:begin + left]
                f.write(piece)
                left -= len(piece)
                begin = 0


def make(folder, a):
    os.makedirs(folder)
    random.seed(1)
    # The upper halves of floats, uniform with a standard deviation of 0.02.
    values = array.array("f", (random.uniform(-0.035, 0.035) for _ in range(1 << 20)))
    block = array.array("H", (bits >> 16 for bits in array.array("I", values.tobytes()))).tobytes()
    shards, part, used = [], [], 0
    for tensor in tensors(a):
        if part and used + size(tensor[1]) > a.shard << 30:
            shards.append(part)
            part, used = [], 0
        part.append(tensor)
        used += size(tensor[1])
    shards.append(part)
    index = {}
    for i, part in enumerate(shards, 1):
        name = f"model-{i:05}-of-{len(shards):05}.safetensors"
        write_shard(os.path.join(folder, name), part, block)
        index.update({tensor: name for tensor, _ in part})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": index}, f)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "llama", "vocab_size": a.vocab, "hidden_size": a.hidden, "intermediate_size": a.inner,
                   "num_hidden_layers": a.layers, "num_attention_heads": a.heads, "num_key_value_heads": a.kv_heads,
                   "head_dim": a.head_dim, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": True,
                   "max_position_embeddings": 131072}, f)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--gyre", default="build/release/bin/gyre")
    p.add_argument("--windows", type=int, default=4)
    p.add_argument("--context", type=int, default=512)
    p.add_argument("--shard", type=int, default=4, help="GiB")
    for name, value in (("vocab", 128256), ("hidden", 3072), ("inner", 8192), ("layers", 28), ("heads", 24),
                        ("kv_heads", 8), ("head_dim", 128)):
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    if not os.path.exists(a.folder):
        make(a.folder, a)
    total = sum(os.path.getsize(os.path.join(a.folder, f)) for f in os.listdir(a.folder))
    random.seed(2)
    tokens = os.path.join(a.folder, "tokens.txt")
    with open(tokens, "w") as f:
        f.write(" ".join(str(random.randrange(a.vocab)) for _ in range(a.windows * a.context)))
    began = time.monotonic()
    done = subprocess.run([a.gyre, "analyze", a.folder, "--tokens", tokens, "--context", str(a.context), "--sequences",
                           str(a.windows), "--db", os.path.join(a.folder, "results.db"), "--replace"])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{total / 1e9:.1f} GB of weights: {time.monotonic() - began:.0f} s, {peak:.0f} MiB resident at most")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
