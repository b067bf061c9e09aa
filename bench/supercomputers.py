#!/usr/bin/env python3
"""Collectives that others have measured on supercomputers, beside their replay: docs/results/supercomputers.md.

usage: bench/supercomputers.py RONDE TABLES PAGE PICTURES

TABLES: a folder of CSV tables (plain or .gz; docs/guide/supercomputers.md has the columns) and of alloc.csv, where the ranks of
a run sat. Every system has its machine made from the fewest nodes on which one run has all_gather by ring and all_reduce by
recursive doubling on one rank a node, and, where there are several, from each run for its own rows; nothing else of a table goes
into a machine. Rows of the fewest nodes are replayed on a machine of more, too.
Names of systems, runs and libraries are compared with each other and with nothing else.
"""
import csv, glob, gzip, json, os, statistics, subprocess, sys, tempfile
from collections import Counter, defaultdict

RONDE, TABLES, PAGE, PICTURES = map(os.path.abspath, sys.argv[1:5])
MEANINGS = os.path.abspath('docs/examples/mpi-meanings.csv')
PICTURES_OF_A_SYSTEM = 3
# The libraries of these tables begin with the nearest partner, which their algorithm_meaning leaves open.
NEAREST_FIRST = {('broadcast', 'binomial'): 'binomial_nearest', ('all_reduce', 'rabenseifner'): 'rabenseifner_nearest'}
CALIBRATING = {('all_gather', 'ring'), ('all_reduce', 'recursive_doubling')}
# Of this one only whether a library copies its input is learnt; rows of it do not count where that is so.
TELLING = {('reduce_scatter', 'ring')}


def open_text(path):
    return gzip.open(path, 'rt') if path.endswith('.gz') else open(path)


def read_rows():
    """Rows in host memory, and the file that says where ranks sat."""
    rows, columns, alloc = [], None, None
    for path in sorted(glob.glob(os.path.join(TABLES, '*.csv*'))):
        with open_text(path) as file:
            reader = csv.DictReader(file)
            if 'groups' in reader.fieldnames:
                alloc = path
            elif 'time_us_median' in reader.fieldnames:
                columns = reader.fieldnames
                rows += [r for r in reader if r['memory'] == 'host' and 'FAULTY' not in r['notes']]
    for row in rows:
        row['algorithm_meaning'] = NEAREST_FIRST.get((row['collective'], row['algorithm_meaning']), row['algorithm_meaning'])
    return rows, columns, alloc


def job_of(row):
    return row['run'].split('/')[0]


def shape_of(row):
    return next((note[6:] for note in row['notes'].split('; ') if note.startswith('shape ')), '')


def ranks_of(row):
    """Ranks of a node, and all."""
    return int(row['ppn']), int(row['ranks'])


def machines_of(rows):
    """Ranks of a node, and all -> the library whose two algorithms can make a machine."""
    has = defaultdict(set)
    for row in rows:
        has[ranks_of(row), row['library']].add((row['collective'], row['algorithm_meaning'], job_of(row)))
    found = {}
    for (ranks, library), seen in sorted(has.items()):
        if CALIBRATING <= {(c, a) for c, a, _ in seen}:
            # Of several libraries the one with most algorithms is the system's own.
            best = found.get(ranks)
            if not best or len(seen) > best[1]:
                found[ranks] = library, len(seen)
    return {ranks: library for ranks, (library, _) in found.items()}


class Workshop:
    def __init__(self, columns, alloc):
        self.columns, self.folder = columns, tempfile.mkdtemp()
        self.alloc = None
        if alloc:
            self.alloc = os.path.join(self.folder, 'alloc.csv')
            with open_text(alloc) as source, open(self.alloc, 'w') as target:
                target.write(source.read())

    def table(self, rows):
        """Writes rows into the folder; pictures are headed by the name of that file."""
        name = f"{rows[0]['system']}.csv"
        with open(os.path.join(self.folder, name), 'w', newline='') as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(rows)
        return name

    def run(self, command):
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder)

    def replay(self, given, rows, picture=None):
        """Records of `rows`, which are of one number of ranks and one shape, on the machine that `given` makes."""
        first, machine = rows[0], os.path.join(self.folder, 'machine.xml')
        command = [RONDE, 'calibrate', '--from-table', self.table(given), '-N', first['ranks'], '--ppn', first['ppn'], '-o', machine]
        if shape_of(first):
            command += ['--shape', shape_of(first)]
        elif self.alloc:
            command += ['--alloc', self.alloc, '--run', job_of(first)]
        done = self.run(command)
        if done.returncode and '--run' in command:      # where the ranks of this run sat is not known
            done = self.run(command[:-4])
        if done.returncode:
            sys.stderr.write(done.stderr)
            return []
        command = [RONDE, 'validate', '--published', self.table(rows), '--topo', machine, '--meanings', MEANINGS, '--json']
        done = self.run(command + (['--plot', picture] if picture else []))
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return [dict(r, system=first['system'], run=job_of(first), library=first['library'], ppn=int(first['ppn'])) for r in records if r['state'] in ('predicted', 'refused')]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def cells(records):
    off = [abs(r['error']) * 100 if r['error'] is not None else 1000 for r in records]
    lean = [r['error'] * 100 for r in records if r['error'] is not None]
    return f"{len(off)} | {statistics.median(off):.0f} | {quantile(off, .9):.0f} | {statistics.median(lean):+.0f}" if lean else f"{len(off)} | - | - | -"


def summary(records):
    off = [abs(r['error']) * 100 for r in records if r['error'] is not None]
    lost = len(records) - len(off)
    return f"{len(records)} rows, {statistics.median(off):.0f} % off in the median, {quantile(off, .9):.0f} % at the 90th percentile" + \
        (f', {lost} without an answer.' if lost else '.') + f' {winners(records)}'


def winners(records):
    """Among algorithms of one point: how often the one predicted to be the fastest is within 5 % of it."""
    points = defaultdict(list)
    for r in records:
        points[r['system'], r['run'], r['library'], r['collective'], r['ranks'], r['bytes']].append(r)
    rivals = [p for p in points.values() if len({r['algorithm'] for r in p}) > 1]
    right = sum(min((r for r in p if r['time_us']), key=lambda r: r['time_us'])['measured_us'] <= 1.05 * min(r['measured_us'] for r in p) for p in rivals)
    return f'The fastest of a library was named at {right} of {len(rivals)} points ({100 * right / max(1, len(rivals)):.0f} %).'


def put_table(page, title, records, key):
    page.write(f'\n### {title}\n\n| | rows | median (%) | p90 (%) | lean (%) |\n|---|---|---|---|---|\n')
    groups = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    for name in sorted(groups, key=lambda k: (str(type(k)), k)):
        page.write(f"| {name if not isinstance(name, tuple) else ' '.join(map(str, name[1:]))} | {cells(groups[name])} |\n")


def size_class(record):
    size = record['bytes']
    return (0, 'to 4 KiB') if size <= 4096 else (1, 'to 256 KiB') if size <= 1 << 18 else (2, 'to 16 MiB') if size <= 1 << 24 else (3, 'above')


def put_worst(page, records):
    page.write('\n### The ten worst\n\n| collective | algorithm | ranks | bytes | measured (us) | simulated (us) |\n|---|---|---|---|---|---|\n')
    answered = [r for r in records if r['error'] is not None]
    worst = sorted(answered, key=lambda r: -max(r['time_us'] / r['measured_us'], r['measured_us'] / r['time_us']))[:10]
    for r in worst:
        page.write(f"| {r['collective']} | {r['algorithm']} | {r['ranks']} | {r['bytes']} | {r['measured_us']:.1f} | {r['time_us']:.1f} |\n")


def is_given(row, ranks, library):
    return ranks_of(row) == ranks and row['library'] == library and (row['collective'], row['algorithm_meaning']) in CALIBRATING | TELLING


def by_machine(shop, rows, given, draws):
    """All rows on machines from `given`: one per number of ranks, shape and run."""
    parts, records, drawn = defaultdict(list), [], set()
    counts = Counter(int(row['ranks']) for row in rows)
    worth = {ranks for ranks, _ in counts.most_common(PICTURES_OF_A_SYSTEM)}
    for row in rows:
        parts[ranks_of(row), shape_of(row), job_of(row), row['library']].append(row)
    for ((_, ranks), _, _, _), part in sorted(parts.items(), key=lambda item: (item[0][0], -len(item[1]))):
        picture = None
        if draws and ranks in worth and ranks not in drawn:
            drawn.add(ranks)
            picture = os.path.join(PICTURES, f"{part[0]['system']}-{ranks}.svg")
        records += shop.replay(given, part, picture)
    return records, sorted(drawn)


def own_runs(shop, rows):
    """Rows of runs that can make a machine, on theirs."""
    own = []
    for job in sorted({job_of(r) for r in rows}):
        of_job = [r for r in rows if job_of(r) == job]
        for ranks, library in machines_of(of_job).items():
            given = [r for r in of_job if is_given(r, ranks, library)]
            own += by_machine(shop, [r for r in of_job if ranks_of(r) == ranks], given, False)[0]
    return own


def put_section(page, title, records):
    if records:
        page.write(f'\n## {title}\n\n{summary(records)}\n')
        put_table(page, 'By collective', records, lambda r: (0, r['collective'], r['algorithm']))
        put_table(page, 'By ranks of a node, and all', records, lambda r: (0, r['ppn'], r['ranks']))
        put_worst(page, records)


def put_system(page, shop, system, rows):
    alone = [r for r in rows if r['ppn'] == '1']
    machines = machines_of(alone)
    if not machines:
        return
    fewest = min(machines)
    makers = {ranks: [r for r in alone if is_given(r, ranks, library)] for ranks, library in machines.items()}
    records, drawn = by_machine(shop, alone, makers[fewest], True)
    page.write(f'\n## {system}: one machine, from {len(makers[fewest])} rows on {fewest[1]} nodes\n\n{summary(records)}\n')
    for ranks in drawn:
        page.write(f'\n![{system}, {ranks} nodes: measured and predicted](supercomputers/{system}-{ranks}.svg)\n')
    put_table(page, 'By collective, which is also one left out of what the machine was made of', records, lambda r: (0, r['collective'], r['algorithm']))
    left_out = [r for r in records if r['ranks'] != fewest[1]]
    others = sorted(set(machines) - {fewest})
    if others:
        left_out += by_machine(shop, [r for r in alone if ranks_of(r) == fewest], makers[others[0]], False)[0]
    note = f'; {fewest[1]} from {others[0][1]} nodes, all others from {fewest[1]}' if others else ''
    put_table(page, f'By nodes, each left out of what the machine was made of{note}', left_out, lambda r: r['ranks'])
    put_table(page, 'By size', records, size_class)
    put_worst(page, records)
    shared = [r for r in rows if r['ppn'] != '1']
    if shared:
        put_section(page, f'{system}: several ranks a node, from the same rows', by_machine(shop, shared, makers[fewest], False)[0])
    if shop.alloc and not any(shape_of(r) for r in rows):
        own = own_runs(shop, alone)
        if len({r['run'] for r in own}) > 1:
            put_section(page, f'{system}: each run from itself', own)


def main():
    rows, columns, alloc = read_rows()
    shop = Workshop(columns, alloc)
    os.makedirs(PICTURES, exist_ok=True)
    with open(PAGE, 'w') as page:
        page.write('# Supercomputers: measured and replayed\n\nWritten by `./dev supercomputers`; what it means, and what is known of the misses: '
                   '[guide/supercomputers.md](../guide/supercomputers.md). Simulated. No row that is counted made '
                   'a machine, but for a yes or no that reduce_scatter by ring says: whether a library copies its input.\n')
        for system in sorted({r['system'] for r in rows}):
            put_system(page, shop, system, [r for r in rows if r['system'] == system])


main()
