"""When is a ring faster than two trees on 64 DGX H100, and what is best there?"""
import ronde

machine = ronde.Topology.generate("dgx-h100", nodes=64)
for name in ("ring", "double_tree"):
    schedule = ronde.compile("all_reduce", name, ranks=512)  # proved, or there is none
    for record in ronde.price(schedule, machine, ["1M", "1G"], engines=["closed_form"]):
        print(f"{name:24} {record['bytes']:>11} B {record['time_ns'] / 1e3:8.0f} us")
for row in ronde.plan("all_reduce", machine, ["1M", "1G"], ranks=512):
    print(f"{row['algorithm']:24} {row['bytes']:>11} B {row['time_ns'] / 1e3:8.0f} us, the best")
