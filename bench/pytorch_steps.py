"""PyTorch's part in the benchmark (bench/step_server.h says how it speaks): the same model, trained
as one would write it for PyTorch to be fastest: on the CPU eagerly, on a GPU compiled, with its
fused attention and its fused AdamW. Its only argument is BenchCase::Numbers().

gpt is cheaper here than what Gyre computes: PyTorch has a fused layer norm (without a bias) but no
fused RMS norm, and nothing rotates.
"""
import json
import math
import sys
import time
import types


def answer(words):
    print(json.dumps(words), flush=True)


try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    answer({"absent": f"{sys.executable}: {error}"})
    sys.exit(0)


class RmsNorm(torch.nn.Module):
    def __init__(self, size, one_plus):
        super().__init__()
        self.one_plus = one_plus
        self.weight = torch.nn.Parameter(torch.zeros(size) if one_plus else torch.ones(size))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * (1 + self.weight if self.one_plus else self.weight)


class LayerNorm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight)


class Layer(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.a = a
        self.head_dim = a.head_dim
        linear = lambda i, o: torch.nn.Linear(i, o, bias=False)
        self.qkv = linear(a.hidden, (a.heads + 2 * a.kv_heads) * self.head_dim)
        self.out = linear(a.heads * self.head_dim, a.hidden)
        self.up = linear(a.hidden, a.intermediate if a.family == "gpt" else 2 * a.intermediate)
        self.down = linear(a.intermediate, a.hidden)
        norm = (lambda n: LayerNorm(n)) if a.family == "gpt" else (
            lambda n: RmsNorm(n, a.family == "gemma"))
        self.norm1, self.norm2 = norm(a.hidden), norm(a.hidden)

    def attention(self, x, tables, mask):
        a, d = self.a, self.head_dim
        b, t, _ = x.shape
        qk, v = self.qkv(x).view(b, t, a.heads + 2 * a.kv_heads, d).transpose(1, 2).split(
            [a.heads + a.kv_heads, a.kv_heads], dim=1)
        if tables is not None:
            cos, sin = tables
            half = d // 2
            qk = qk * cos + torch.cat((-qk[..., half:], qk[..., :half]), -1) * sin
        q, k = qk.split([a.heads, a.kv_heads], dim=1)
        if a.on_gpu:
            grouped = {"enable_gqa": True} if a.kv_heads < a.heads else {}
            y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True,
                                               **grouped)
            return self.out(y.transpose(1, 2).reshape(b, t, a.heads * d))
        # The queries of all heads that share a key/value head make one taller matrix.
        q, k, v = (z.reshape(b * a.kv_heads, -1, d) for z in (q, k, v))
        # One pass for product, scale and mask.
        scores = torch.baddbmm(mask.to(q.dtype), q, k.transpose(1, 2), alpha=1 / math.sqrt(d))
        y = torch.bmm(F.softmax(scores, -1).to(v.dtype), v)
        return self.out(y.view(b, a.heads, t, d).transpose(1, 2).reshape(b, t, a.heads * d))

    def mlp(self, x):
        if self.a.family == "gpt":
            return self.down(F.gelu(self.up(x), approximate="tanh"))
        gate, up = self.up(x).chunk(2, -1)
        gate = F.silu(gate) if self.a.family == "llama" else F.gelu(gate, approximate="tanh")
        return self.down(gate * up)

    def forward(self, x, tables, mask):
        x = x + self.attention(self.norm1(x), tables, mask)
        return x + self.mlp(self.norm2(x))


class Decoder(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.a = a
        self.embedding = torch.nn.Embedding(a.vocab, a.hidden)
        self.layers = torch.nn.ModuleList(Layer(a) for _ in range(a.layers))
        self.norm = LayerNorm(a.hidden) if a.family == "gpt" else RmsNorm(a.hidden, a.family == "gemma")
        for parameter in self.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.02)
        d = a.head_dim
        angles = torch.outer(torch.arange(a.context).float(),
                             10000.0 ** (-torch.arange(0, d, 2).float() / d)).repeat(1, 2)
        self.tables = None if a.family == "gpt" else (
            angles.cos().to(a.device), angles.sin().to(a.device))
        self.mask = None if a.on_gpu else torch.full((a.context, a.context), float("-inf")).triu(1).repeat(
            a.heads // a.kv_heads, 1)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        if self.a.family == "gemma":
            x = x * math.sqrt(self.a.hidden)
        for layer in self.layers:
            x = layer(x, self.tables, self.mask)
        return self.head(x, targets)

    def head(self, x, targets):
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.view(-1, self.a.vocab).float(), targets.view(-1))


class Training:
    def __init__(self, a):
        torch.manual_seed(1)
        self.a = a
        self.model = Decoder(a).to(a.device)
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for p in self.parameters if p.dim() > 1], "weight_decay": 0.1},
             {"params": [p for p in self.parameters if p.dim() == 1], "weight_decay": 0.0}],
            lr=1e-3, betas=(0.9, 0.95), eps=1e-8, **({"fused": True} if a.on_gpu else {}))
        self.tokens = torch.randint(a.vocab, (a.rows, a.context)).to(a.device)
        self.targets = torch.randint(a.vocab, (a.rows, a.context)).to(a.device)
        self.loss = self.model

    def compile(self):
        """All of it, or layer by layer, which are compiled once for all, where the whole would take
        minutes; what it did."""
        if self.a.layers <= 12:
            self.loss = torch.compile(self.model)
            return "compiled as a whole"
        for layer in self.model.layers:
            layer.compile()
        self.model.head = torch.compile(self.model.head)
        return "compiled by layer"

    def step(self):
        with torch.autocast(self.a.device.split(":")[0], dtype=torch.bfloat16,
                            enabled=self.a.precision == "bf16"):
            loss = self.loss(self.tokens, self.targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def first_line(error):
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:300].replace("|", "/")


def warm_up(a):
    """A training that has done its first steps on a GPU, and what it says of itself."""
    torch.backends.cuda.matmul.allow_tf32 = a.precision == "tf32"
    free = torch.cuda.mem_get_info(a.device)[0]
    training = Training(a)
    try:
        how = training.compile()
        first = training.step()
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception as error:
        how = f"eager, for it cannot be compiled: {first_line(error)}"
        training = Training(a)
        first = training.step()
    for _ in range(2):
        training.step()
    return training, [f"PyTorch {torch.__version__}", how], {
        "device": torch.cuda.get_device_name(a.device), "first_loss": first,
        "device_memory": free - torch.cuda.mem_get_info(a.device)[0]}


def main():
    a = types.SimpleNamespace(**json.loads(sys.argv[1]))
    a.on_gpu = a.backend != "cpu"
    a.device = "cuda:0" if a.backend == "cuda" else a.backend
    if a.on_gpu:
        try:
            training, notes, about = warm_up(a)
        except Exception as error:  # of memory, mostly; the rest is measured without it
            return answer({"absent": first_line(error)})
    else:
        torch.set_num_threads(a.threads)
        training, about = Training(a), {}
        notes = [f"PyTorch {torch.__version__}", f"{torch.get_num_threads()} threads"]

    answer({"ready": time.monotonic(), "parameters": sum(p.numel() for p in training.parameters),
            "note": ", ".join(notes), **about})
    for line in sys.stdin:
        count = int(line)
        processor, wall = time.process_time(), time.monotonic()
        for _ in range(count):
            loss = training.step()
        answer({"loss": loss, "seconds": time.monotonic() - wall,
                "processor": time.process_time() - processor})


main()
