/** Names the cell of the parameter heat map under the pointer. */
interface Heat {
  readonly names: readonly string[];
  readonly evaluations: readonly string[];
  /** The values of each column, separated by spaces. */
  readonly columns: readonly string[];
}

export function activateHeatMap(root: ParentNode): void {
  const target = root.querySelector('#heat-target');
  const pointer = root.querySelector('#heat-pointer');
  const readout = target?.closest('figure')?.querySelector('.readout');
  if (!target || !pointer || !readout) return;
  const heat = JSON.parse(root.querySelector('#heat-data')?.textContent ?? 'null') as Heat;
  const columns = heat.columns.length;
  const rows = heat.names.length;
  const top = Number(target.getAttribute('y'));
  const height = Number(target.getAttribute('height'));
  const show = ({ clientX, clientY }: PointerEvent) => {
    const box = target.getBoundingClientRect();
    const at = (position: number, start: number, size: number, count: number) =>
      Math.min(count - 1, Math.max(0, Math.floor(((position - start) / size) * count)));
    const column = at(clientX, box.left, box.width, columns);
    const row = at(clientY, box.top, box.height, rows);
    pointer.setAttribute('x', `${(100 * column) / columns}%`);
    pointer.setAttribute('width', `${100 / columns}%`);
    pointer.setAttribute('y', String(top + (height * row) / rows));
    pointer.setAttribute('height', String(height / rows));
    const value = heat.columns[column]!.split(' ')[row];
    readout.textContent = `params[${row}], ${heat.names[row]} = ${value} in ${heat.evaluations[column]}`;
  };
  target.addEventListener('pointermove', show as EventListener);
  target.addEventListener('pointerdown', show as EventListener);
}
