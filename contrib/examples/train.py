"""Learn a sine with PyTorch; train.sh runs this."""

import os
import signal
import sys

import torch

STEPS = int(os.environ.get("STEPS", "5000"))
path = f"train-{os.environ['AISCHED_JOB_ID']}.pt"
device = "cuda" if torch.cuda.is_available() else "cpu"
told_to_end = False


def end(_signal, _frame):
    global told_to_end
    told_to_end = True


# The time from SIGTERM to SIGKILL is the grace of the queue.
signal.signal(signal.SIGTERM, end)

model = torch.nn.Sequential(
    torch.nn.Linear(1, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1)
).to(device)
optimizer = torch.optim.Adam(model.parameters())
step = 0


def save():
    torch.save([step, model.state_dict(), optimizer.state_dict()], path + ".new")
    os.replace(path + ".new", path)  # the file is whole at any time


if os.path.exists(path):
    step, weights, moments = torch.load(path, map_location=device)
    model.load_state_dict(weights)
    optimizer.load_state_dict(moments)
print(f"step {step} of {STEPS} on {device}", flush=True)

while step < STEPS:
    x = torch.rand(4096, 1, device=device) * 6
    loss = torch.nn.functional.mse_loss(model(x), torch.sin(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if told_to_end or step % 1000 == 0:
        save()
        print(f"step {step}: loss {loss.item():.6f}", flush=True)
    if told_to_end:
        sys.exit("ends, to go on later")
