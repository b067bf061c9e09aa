// Stands before all else of a page: what goes wrong is noted, and when all is there a person is played. Its verdict is the title.
// Then text goes, whose shape is that of the fonts that are there, and pictures are left, to be compared.
const wrong = [];
addEventListener('error', e => wrong.push('error ' + e.message));
addEventListener('securitypolicyviolation', e => wrong.push('loads ' + e.blockedURI));
console.error = console.warn = (...a) => wrong.push('console ' + a.join(' '));
const must = (is, what) => { if (!is) wrong.push(what); };
const key = (to, name) => to.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));

// Numbers by key and by pointer, size by size.
function useChart(chart) {
  const says = chart.parentNode.querySelector('.readout'), box = chart.getBoundingClientRect();
  const said = name => { key(chart, name); return says.textContent; };
  must(chart.tabIndex === 0, 'a chart takes no focus');
  const first = said('ArrowRight'), second = said('ArrowRight'), back = said('ArrowLeft'), last = said('End');
  must(/^[0-9.]+ (B|[KMG]iB): .*: [0-9.]+ GB\/s, [0-9.]+ us/.test(first), 'the first key says ' + first);
  must(first !== second && back === first && last !== first, 'keys do not move');
  must(said('Home') === first, 'Home is not the first size');
  key(chart, 'End');
  chart.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width * .08, clientY: box.top + 20}));
  must(says.textContent === first, 'the pointer says ' + says.textContent);
}

function usePicture(host) {
  const svg = host.shadowRoot.querySelector('svg'), view = svg.viewBox.baseVal, whole = view.width;
  must(host.tabIndex === 0, 'a picture takes no focus');
  key(host, '+');
  must(view.width < whole, '+ does not enlarge');
  key(host, 'ArrowRight');
  must(view.x > 0, 'the arrow does not move');
  key(host, '-');
  key(host, '0');
  must(view.width === whole && view.x === 0, '0 does not show all');
  const enlarge = [...host.parentNode.querySelectorAll('button')].find(b => b.textContent === 'Enlarge');
  enlarge.click();
  must(view.width < whole, 'the button does not enlarge');
  key(host, '0');
}

// Words stand in their picture and on no other word.
function readWords(svg) {
  const frame = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]).filter(w => w[1].width > 0);
  words.forEach(([text, r], i) => {
    must(r.left >= frame.left - 1 && r.right <= frame.right + 1 && r.top >= frame.top - 1 && r.bottom <= frame.bottom + 1,
      'clipped: ' + text);
    for (const [other, o] of words.slice(i + 1)) {
      const wide = Math.min(r.right, o.right) - Math.max(r.left, o.left);
      const high = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
      must(wide < 2 || high < Math.min(r.height, o.height) * .4, `${text} stands on ${other}`);
    }
  });
}

addEventListener('load', () => {
  const hosts = [...document.querySelectorAll('.picture')].filter(h => h.shadowRoot);
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  document.querySelectorAll('svg.chart').forEach(useChart);
  document.querySelectorAll('.zoom').forEach(usePicture);
  [...document.querySelectorAll('svg'), ...hosts.map(h => h.shadowRoot.querySelector('svg'))].forEach(readWords);
  for (const figure of document.querySelectorAll('figure'))
    must(/\?/.test(figure.querySelector('figcaption b').textContent), 'a picture without a question');
  must(document.querySelectorAll('script').length === 2, 'a foreign script');
  must(document.documentElement.scrollWidth <= innerWidth, 'wider than the window');
  must(performance.getEntriesByType('resource').length === 0, 'something was loaded');
  must(matchMedia('(prefers-color-scheme: dark)').matches === /dark/.test(location.hash), 'not the scheme that was asked for');
  must((getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)') === /dark/.test(location.hash), 'light and dark');
  document.title = wrong.length ? 'WRONG ' + wrong.join(' | ') : 'all is well';
  for (const fold of document.querySelectorAll('details')) fold.open = false;
  for (const cursor of document.querySelectorAll('.cursor')) cursor.remove();
  if (/without/.test(location.hash)) document.querySelector('svg.chart .line').remove();
  const bare = 'h1,p,figcaption,details,button,output,.key{display:none!important}text{visibility:hidden}';
  for (const root of [document.head, ...hosts.map(h => h.shadowRoot)])
    root.append(Object.assign(document.createElement('style'), {textContent: bare}));
});
