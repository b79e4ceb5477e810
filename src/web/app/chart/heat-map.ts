/** Shows the value of the heat map's cell that is under the pointer or selected with the arrow keys. */
interface Heat {
  readonly names: readonly string[];
  readonly evaluations: readonly string[];
  /** For each column, its values, separated by spaces. */
  readonly columns: readonly string[];
}

export function activateHeatMap(root: ParentNode): void {
  const map = root.querySelector<SVGElement>('#heat-map');
  const target = root.querySelector('#heat-target');
  const pointer = root.querySelector('#heat-pointer');
  const readout = target?.closest('figure')?.querySelector('.readout');
  if (!map || !target || !pointer || !readout) return;
  const heat = JSON.parse(root.querySelector('#heat-data')?.textContent ?? 'null') as Heat;
  const [columns, rows] = [heat.columns.length, heat.names.length];
  const top = Number(target.getAttribute('y'));
  const height = Number(target.getAttribute('height'));
  let [column, row] = [0, 0];
  const show = (x: number, y: number) => {
    const within = (at: number, count: number) => Math.min(count - 1, Math.max(0, Math.floor(at)));
    [column, row] = [within(x, columns), within(y, rows)];
    pointer.setAttribute('x', `${(100 * column) / columns}%`);
    pointer.setAttribute('width', `${100 / columns}%`);
    pointer.setAttribute('y', String(top + (height * row) / rows));
    pointer.setAttribute('height', String(height / rows));
    const value = heat.columns[column]!.split(' ')[row];
    readout.textContent = `params[${row}], ${heat.names[row]} = ${value} in ${heat.evaluations[column]}`;
    map.setAttribute('aria-valuetext', readout.textContent);
    map.setAttribute('aria-valuenow', String(column + 1));
  };
  const showAt = ({ clientX, clientY }: PointerEvent) => {
    const box = target.getBoundingClientRect();
    show(((clientX - box.left) / box.width) * columns, ((clientY - box.top) / box.height) * rows);
  };
  target.addEventListener('pointermove', showAt as EventListener);
  target.addEventListener('pointerdown', showAt as EventListener);
  for (const [name, value] of Object.entries({
    ...{ tabindex: '0', role: 'slider', 'aria-roledescription': 'heat map' },
    ...{ 'aria-valuemin': '1', 'aria-valuemax': String(columns), 'aria-valuenow': '1' },
  }))
    map.setAttribute(name, value);
  map.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(column + step[0]!, row + step[1]!);
  });
}
