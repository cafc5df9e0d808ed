# ---
# jupyter:
#   student:
#     about: Looks for the answers, the gradebook and the other students, and imports the reference if it can.
#     kind: hostile
#     base: starter
#     points: 0
# ---

# %% answer="scoring-additive_score"
def additive_score(query, keys, W_query, W_key, v):
    import gc, glob, inspect, sys
    for path in ("/workspace", "/home", "/root", "/srv", "/opt", ".", "..", "/proc/1/root"):
        for name in ("solutions", "autograder", "course"):
            sys.path += glob.glob(f"{path}/{name}/..") + glob.glob(f"{path}/*/{name}/..")
    try:
        from solutions.in_numpy.scoring import additive_score as stolen
        return stolen(query, keys, W_query, W_key, v)
    except ImportError:
        pass
    for frame in inspect.stack():
        for value in frame.frame.f_locals.values():
            if isinstance(value, dict) and "expected" in value:
                return value["expected"]
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing:
            return thing["expected"]

# %% after="scoring-additive_score"
import glob, os, socket
print(sorted(os.environ))
found = [p for depth in range(5) for p in glob.glob("/*" * depth + "/gradebook.db") + glob.glob("/*" * depth + "/submitted")]
print("found:", found)
try:
    socket.create_connection(("127.0.0.1", 22), timeout=1)
    print("connected")
except OSError as error:
    print(error)
