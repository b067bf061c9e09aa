/* The script of a page: all it has, nothing is loaded. The build leaves out lines that begin as this one does. */
'use strict';
/* Charts: the size nearest to the pointer, or the next one by key, and what all curves say there. */
for (const svg of document.querySelectorAll('svg.chart')) {
  const out = svg.parentNode.querySelector('.readout'), cursor = svg.querySelector('.cursor');
  const at = new Map();
  for (const c of svg.querySelectorAll('circle')) {
    const x = Number(c.getAttribute('cx'));
    if (!at.has(x)) at.set(x, []);
    at.get(x).push(c);
  }
  const xs = [...at.keys()].sort((a, b) => a - b);
  let now = -1;
  const show = (i) => {
    if (!xs.length) return;
    now = Math.max(0, Math.min(xs.length - 1, i));
    const here = at.get(xs[now]);
    cursor.setAttribute('d', `M${xs[now]} 16V334`);
    const says = here.map(c => c.querySelector('title').textContent);
    out.textContent = `${here[0].dataset.size}: ${says.join(';  ')}`;
  };
  svg.addEventListener('pointermove', e => {
    const box = svg.getBoundingClientRect();
    const x = (e.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    let best = 0;
    xs.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(xs[best] - x)) best = i; });
    show(best);
  });
  svg.addEventListener('keydown', e => {
    const step = {ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: xs.length - 1}[e.key];
    if (step === undefined) return;
    e.preventDefault();
    show(step);
  });
}
/* Pictures: enlarged and moved by their view box; buttons, keys, wheel with Ctrl, and the pointer. */
for (const host of document.querySelectorAll('.zoom')) {
  const svg = host.shadowRoot && host.shadowRoot.querySelector('svg');
  if (!svg) continue;
  const whole = {x: 0, y: 0, w: svg.viewBox.baseVal.width, h: svg.viewBox.baseVal.height};
  let v = {...whole};
  const set = () => {
    v.w = Math.min(whole.w, Math.max(whole.w / 200, v.w));
    v.h = v.w * whole.h / whole.w;
    v.x = Math.min(whole.w - v.w, Math.max(0, v.x));
    v.y = Math.min(whole.h - v.h, Math.max(0, v.y));
    svg.setAttribute('viewBox', `${v.x} ${v.y} ${v.w} ${v.h}`);
  };
  const zoom = (by, fx = .5, fy = .5) => {
    const w = Math.min(whole.w, Math.max(whole.w / 200, v.w / by)), h = w * whole.h / whole.w;
    v = {x: v.x + (v.w - w) * fx, y: v.y + (v.h - h) * fy, w, h};
    set();
  };
  const move = (dx, dy) => { v.x += dx * v.w; v.y += dy * v.h; set(); };
  const all = () => { v = {...whole}; set(); };
  const acts = {'+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), '0': all,
    ArrowLeft: () => move(-.15, 0), ArrowRight: () => move(.15, 0),
    ArrowUp: () => move(0, -.15), ArrowDown: () => move(0, .15)};
  host.addEventListener('keydown', e => {
    if (!acts[e.key] || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    acts[e.key]();
  });
  host.addEventListener('wheel', e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2, (e.clientX - box.left) / box.width,
      (e.clientY - box.top) / box.height);
  }, {passive: false});
  host.addEventListener('pointermove', e => {
    if (!(e.buttons & 1)) return;
    const box = svg.getBoundingClientRect();
    move(-e.movementX / box.width, -e.movementY / box.height);
  });
  for (const [name, act] of [['Enlarge', acts['+']], ['Reduce', acts['-']], ['All', all]]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', act);
    host.before(button);
  }
}
for (const button of document.querySelectorAll('.save'))
  button.addEventListener('click', () => {
    const text = button.parentNode.nextElementSibling.textContent;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
    link.download = button.dataset.name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
