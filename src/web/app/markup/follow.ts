/** Regularly reloads a saved page of work in progress, and shows how old it is. */

const units = Object.entries({ days: 86_400, h: 3600, min: 60 });

export function followFile(): void {
  const box = document.querySelector<HTMLInputElement>('#follow');
  const written = document.querySelector<HTMLElement>('#written');
  if (box === null || written === null) return;
  const { silence, time = '' } = written.dataset;
  const atTime = written.textContent;
  const update = () => {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
    const isSilent = seconds > Number(silence);
    const [unit, size] = units.find(([, least]) => seconds >= 2 * least) ?? ['s', 1];
    const ago = `${Math.floor(seconds / size)} ${unit}`;
    written.textContent = `${atTime}, ${ago} ago${isSilent ? '; the process may have died' : ''}`;
    written.classList.toggle('warn-text', isSilent);
  };
  update();
  setInterval(update, 1000);
  setInterval(() => {
    // Don't reload while text is selected or details are open, because a reload would undo both.
    const isRead = getSelection()?.isCollapsed === false || document.querySelector('main details[open]');
    if (box.checked && !isRead) location.reload();
  }, 1000 * Number(box.dataset.every));
}
