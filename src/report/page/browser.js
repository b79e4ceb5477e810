/**
 * The page's behaviour: unpacks prompts when opened, repeats tooltips below figures, toggles lines and bands, shows heat
 * map values, opens the log entry of a link, and follows running work. Inserts text only as text nodes. The live view
 * adds sections later and announces each with a `grown` event.
 */
(() => {
  // biome-ignore lint/suspicious/noRedundantUseStrict: the page runs it as a script, not as a module
  'use strict';
  const byId = (id) => document.getElementById(id);
  const parse = (block) => JSON.parse(block?.textContent ?? 'null');
  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  let store;
  let storeBlock;
  const lineNumbers = (message) => {
    const numbers = [];
    for (let i = 1; i < message.length; i += 2)
      for (let j = 0; j < message[i + 1]; j++) numbers.push(message[i] + j);
    return numbers;
  };
  const showPrompt = (box) => {
    const block = byId('prompts');
    if (block !== storeBlock) {
      storeBlock = block;
      store = parse(block);
    }
    const call = Number(box.dataset.call);
    const previous = store.prompts[call - 1];
    const before = previous && new Set(previous.flatMap((m) => lineNumbers(store.messages[m])));
    const note = element(
      'p',
      'muted',
      'Highlighted: lines that are not in the previous prompt on this page.',
    );
    note.hidden = true;
    box.append(note);
    for (const m of store.prompts[call]) {
      const message = store.messages[m];
      box.append(element('h5', '', message[0]));
      const text = element('pre');
      text.tabIndex = 0;
      let piece = '';
      let pieceNew = false;
      const flush = () => {
        if (piece !== '') text.append(pieceNew ? element('mark', '', piece) : piece);
        piece = '';
      };
      const numbers = lineNumbers(message);
      numbers.forEach((number, i) => {
        const line = store.lines[number] + (i < numbers.length - 1 ? '\n' : '');
        const isNew = before !== undefined && line.trim() !== '' && !before.has(number);
        if (isNew !== pieceNew) flush();
        pieceNew = isNew;
        if (isNew) note.hidden = false;
        piece += line;
      });
      flush();
      box.append(text);
    }
  };
  document.addEventListener(
    'toggle',
    (event) => {
      const box = event.target;
      if (box.matches('details.prompt') && box.open && box.dataset.shown === undefined) {
        box.dataset.shown = '';
        showPrompt(box);
      }
    },
    true,
  );

  const activate = (root) => {
    for (const figure of root.querySelectorAll('figure[data-readout]')) {
      const readout = figure.querySelector('.readout');
      readout.textContent = readout.dataset.hint;
      figure.addEventListener('pointerover', (event) => {
        const title = event.target.querySelector?.(':scope > title');
        if (title) readout.textContent = title.textContent;
      });
    }

    for (const boxes of root.querySelectorAll('.arms')) {
      const figure = boxes.closest('figure');
      const show = () => {
        for (const { checked, dataset } of boxes.querySelectorAll('input')) {
          const drawn = `svg [data-arm="${dataset.arm}"][data-part="${dataset.part}"]`;
          for (const part of figure.querySelectorAll(drawn)) part.toggleAttribute('hidden', !checked);
        }
      };
      boxes.addEventListener('change', ({ target: { checked, dataset } }) => {
        const others = `input[data-part="${dataset.part}"]`;
        if (dataset.arm === 'all') for (const box of boxes.querySelectorAll(others)) box.checked = checked;
        show();
      });
      // Apply the checkbox states that the browser restored on reload.
      show();
    }

    const target = root.querySelector('#heat-target');
    if (target) {
      const heat = parse(root.querySelector('#heat-data'));
      const pointer = root.querySelector('#heat-pointer');
      const readout = target.closest('figure').querySelector('.readout');
      const columns = heat.columns.length;
      const rows = heat.names.length;
      const top = Number(target.getAttribute('y'));
      const height = Number(target.getAttribute('height'));
      const show = (event) => {
        const box = target.getBoundingClientRect();
        const at = (position, start, size, count) =>
          Math.min(count - 1, Math.max(0, Math.floor(((position - start) / size) * count)));
        const column = at(event.clientX, box.left, box.width, columns);
        const row = at(event.clientY, box.top, box.height, rows);
        pointer.setAttribute('x', `${(100 * column) / columns}%`);
        pointer.setAttribute('width', `${100 / columns}%`);
        pointer.setAttribute('y', top + (height * row) / rows);
        pointer.setAttribute('height', height / rows);
        const value = heat.columns[column].split(' ')[row];
        readout.textContent = `params[${row}], ${heat.names[row]} = ${value} in ${heat.evaluations[column]}`;
      };
      target.addEventListener('pointermove', show);
      target.addEventListener('pointerdown', show);
    }
  };
  activate(document);
  document.addEventListener('grown', ({ target }) => activate(target));

  const follow = byId('follow');
  if (follow) {
    const written = byId('written');
    const atTime = written.textContent;
    const update = () => {
      const seconds = Math.max(0, Math.round((Date.now() - Date.parse(written.dataset.time)) / 1000));
      const silent = seconds > Number(written.dataset.silence);
      const units = [
        [86_400, 'days'],
        [3600, 'h'],
        [60, 'min'],
        [1, 's'],
      ];
      const [size, unit] = units.find(([least]) => seconds >= 2 * least) ?? [1, 's'];
      const ago = `${Math.floor(seconds / size)} ${unit}`;
      written.textContent = `${atTime}, ${ago} ago${silent ? '; the process may have died' : ''}`;
      written.classList.toggle('warn-text', silent);
    };
    update();
    setInterval(update, 1000);
    setInterval(() => {
      // Don't reload while text is selected or a section is open, because that would be lost.
      const isRead = !getSelection().isCollapsed || document.querySelector('main details[open]');
      if (follow.checked && !isRead) location.reload();
    }, 1000 * Number(follow.dataset.every));
  }

  const openTarget = () => {
    const entry = byId(location.hash.slice(1));
    if (!(entry instanceof HTMLDetailsElement)) return;
    byId('show-all').checked = true;
    entry.open = true;
    entry.scrollIntoView();
  };
  addEventListener('hashchange', openTarget);
  openTarget();
})();
