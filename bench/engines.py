#!/usr/bin/env python3
"""ronde's replays beside SimGrid's, whole times: the table of docs/results/engines-against-simgrid.md.

usage: bench/engines.py RONDE

Every algorithm of every collective on eight machines, six sizes, in one piece and one channel, ranks in the order of the file.
"""
import csv, io, os, statistics, subprocess, sys, tempfile

RONDE = os.path.abspath(sys.argv[1])
# A machine of the catalogue, or nodes of eight on rails.
MACHINES = ('mi300x', 'rail-16', 'rail-32', 'crossbar-64', 'fat-tree-2to1-64', 'torus-8x8', 'dragonfly-72', 'rail-256')
LEAST_BYTES, MOST_BYTES, FACTOR = '1K', '1G', '16'
MOST_SECONDS = 360
ENGINES = ('simgrid', 'maxmin', 'flat_fifo')
# A difference up to which sums in another order account for it.
NOISE = 1e-12


def ronde(*arguments):
    run = subprocess.run([RONDE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=MOST_SECONDS)
    return run.stdout if run.returncode == 0 else ''


def algorithms():
    """Collective -> its algorithms, in the order of `ronde list`."""
    found = {}
    for row in csv.DictReader(io.StringIO(ronde('list', '--csv'))):
        if row['kind'] == 'algorithm':
            found.setdefault(row['collective'], []).append(row['name'])
    return found


def machine_file(name, folder):
    kind, _, ranks = name.partition('-')
    if kind != 'rail':
        return name
    path = os.path.join(folder, name + '.xml')
    ronde('topo', 'generate', 'rail', '--nodes', str(int(ranks) // 8), '-o', path)
    return path


def times_of(engine, collective, algorithm, machine):
    """Bytes -> ns, and how many ranks; nothing where the ranks are none of the algorithm's, or it takes too long."""
    try:
        text = ronde('sim', collective, '-a', algorithm, '--topo', machine, '--engine', engine, '--channels', '1', '--slot', MOST_BYTES,
                     '--placement', 'file', '-b', LEAST_BYTES, '-e', MOST_BYTES, '-f', FACTOR, '--csv')
    except subprocess.TimeoutExpired:
        text = ''
    rows = list(csv.DictReader(io.StringIO(text)))
    return {int(row['bytes']): float(row['time_ns']) for row in rows}, int(rows[0]['ranks']) if rows else 0


def compare(collective, names, machine):
    """Of each engine: (distance from SimGrid, algorithm) of every replay; how many SimGrid did not finish; ranks."""
    off, unfinished, ranks = {engine: [] for engine in ENGINES[1:]}, 0, 0
    for name in names:
        at = {}
        for engine in ENGINES:
            at[engine], count = times_of(engine, collective, name, machine)
            ranks = max(ranks, count)
        unfinished += sum(size not in at['simgrid'] for size in at['maxmin'])
        for engine in off:
            off[engine] += [(at[engine][size] / ns - 1, name) for size, ns in at['simgrid'].items() if size in at[engine]]
    return off, unfinished, ranks


def farthest(off):
    return max(off, key=lambda each: abs(each[0]))


def row_of(off, unfinished):
    """The columns behind machine, ranks and collective."""
    exact, queued = off['maxmin'], off['flat_fifo']
    worst, name = farthest(exact)
    return (len({name for _, name in exact}), len(exact), unfinished, f'{abs(worst):.0e}', name if abs(worst) > NOISE else '-',
            f'{100 * min(queued)[0]:+.0f} ... {100 * max(queued)[0]:+.0f} %', farthest(queued)[1] if abs(farthest(queued)[0]) > .005 else '-')


def print_row(cells):
    print('|', ' | '.join(map(str, cells)), '|', flush=True)


def main():
    every, known = [], algorithms()
    print_row(('machine', 'ranks', 'collective', 'algorithms', 'in SimGrid', 'not in time', 'maxmin off by, at most', 'of', 'flat_fifo off by',
               'farthest'))
    print_row(10 * ('---',))
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            path = machine_file(machine, folder)
            for collective, names in known.items():
                off, unfinished, ranks = compare(collective, names, path)
                if not off['maxmin']:
                    continue
                every += off['maxmin']
                print_row((machine, ranks, collective, *row_of(off, unfinished)))
    distances = sorted(abs(value) for value, _ in every)
    print(f'\n{len(every)} replays: median {statistics.median(distances):.0e}, {sum(d < 1e-9 for d in distances)} below 1e-9, '
          f'{sum(d > 1e-3 for d in distances)} above 1e-3, worst {100 * distances[-1]:.0f} %.')


main()
