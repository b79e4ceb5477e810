/* Searches all pages. The texts load at the first key press, as scripts, because pages on disk can read nothing else. */
const site = document.currentScript.dataset.site;
const field = document.getElementById('query');
const box = document.getElementById('found');
const [status, list] = [box.querySelector('p'), box.querySelector('ol')];
let index;

const load = (name) =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = site + name;
    script.addEventListener('load', resolve);
    script.addEventListener('error', reject);
    document.head.append(script);
  });

async function makeIndex() {
  await Promise.all([load('minisearch.js'), load('parts.js')]);
  const made = new MiniSearch({
    fields: ['title', 'page', 'words'],
    storeFields: ['title', 'page', 'words'],
    searchOptions: {
      boost: { title: 4, page: 2 },
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : 0),
      combineWith: 'AND',
    },
  });
  made.addAll(globalThis.parts);
  return made;
}

/** The words around the first match. */
function excerpt(words, terms) {
  const at = Math.max(0, ...terms.map((term) => words.toLowerCase().indexOf(term)));
  const from = at < 60 ? 0 : words.indexOf(' ', at - 60) + 1;
  return (from > 0 ? '… ' : '') + words.slice(from, from + 150) + (words.length > from + 150 ? ' …' : '');
}

function entry({ id, title, page, words, terms }) {
  const [item, link, place, text] = ['li', 'a', 'span', 'small'].map((name) => document.createElement(name));
  link.href = site + id;
  link.textContent = title;
  place.textContent = page === title ? '' : page;
  text.textContent = excerpt(words, terms);
  link.append(' ', place, text);
  item.append(link);
  return item;
}

async function search() {
  const query = field.value.trim();
  index ??= makeIndex();
  const found = query === '' ? [] : (await index).search(query);
  if (field.value.trim() !== query) return;
  box.hidden = query === '';
  status.textContent = found.length === 0 ? 'No matches' : `${found.length} found`;
  list.replaceChildren(...found.slice(0, 12).map(entry));
}

function step(by) {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement) + by;
  (at < 0 ? field : links[Math.min(at, links.length - 1)])?.focus();
}

function close() {
  box.hidden = true;
  field.focus();
}

field.addEventListener('input', search);
field.closest('search').addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close();
  else if (event.key === 'ArrowDown') step(1);
  else if (event.key === 'ArrowUp') step(-1);
  else if (event.key === 'Enter' && event.target === field) list.querySelector('a')?.click();
  else return;
  event.preventDefault();
});
document.addEventListener('click', ({ target }) => {
  if (target.closest('search') === null || target.closest('#found a') !== null) box.hidden = true;
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.matches('input')) return;
  field.focus();
  event.preventDefault();
});
