/** Draws MuJoCo's bodies as flat shapes: capsules and cylinders as thick lines, spheres as circles, hinges as dots. */
import { circle, type Frame, line, type Point, rectangle, type Shape, text } from '../frame.js';
import type { Geom, MujocoModel, Simulation, State } from './simulation.js';

/** Settings for drawing an environment; lengths in m. */
export interface Scene {
  /** From the side, x points right and z up; from above, x points right and y up. */
  readonly seenFrom: 'the side' | 'above';
  readonly size: readonly [width: number, height: number];
  /** Lower edge of the view; by default, the view is centred vertically. */
  readonly bottom?: number;
  /** Directions in which the view follows the agent; if omitted, the view is fixed. */
  readonly follow?: 'x' | 'plane';
  /** Roles of geoms by name. Other geoms are ground if they belong to the world body, otherwise part of the agent. */
  readonly roles?: Readonly<Record<string, SolidRole>>;
}

/** Roles in drawing order, background first. */
const layers = ['ground', 'goal', 'agent-detail', 'agent', 'object'] as const;
type SolidRole = (typeof layers)[number];

export function drawScene(scene: Scene, { model, state }: Simulation): Frame {
  const view = viewOf(scene, state);
  const solids = layers.flatMap((role) =>
    model.geoms.flatMap((geom, i) => (roleOf(geom, scene) === role ? shapesOf(geom, i, scene, state) : [])),
  );
  return { view, shapes: [...surroundings(scene, view), ...solids, ...hingesOf(scene, model, state)] };
}

/** Draws hinges as dots that separate aligned limbs; omits hinges of background limbs, which would show through. */
function hingesOf(scene: Scene, { geoms, hinges }: MujocoModel, { xanchor }: State): readonly Shape[] {
  const up = upAxis(scene);
  return hinges.flatMap(({ joint, body }): readonly Shape[] => {
    const limb = geoms.find((geom) => geom.body === body);
    if (limb === undefined || roleOf(limb, scene) === 'agent-detail') return [];
    const center: Point = [xanchor[3 * joint]!, xanchor[3 * joint + up]!];
    return [circle(center, limb.radius / 2, 'agent-detail')];
  });
}

function roleOf({ name, body }: Geom, { roles }: Scene): SolidRole {
  return roles?.[name] ?? (body === 0 ? 'ground' : 'agent');
}

/** Returns the MuJoCo axis that points up in the picture. */
function upAxis({ seenFrom }: Scene): 1 | 2 {
  return seenFrom === 'above' ? 1 : 2;
}

function viewOf(
  { size: [width, height], bottom = -height / 2, follow }: Scene,
  { qpos }: State,
): Frame['view'] {
  const x = follow === undefined ? 0 : qpos[0]!;
  const y = follow === 'plane' ? qpos[1]! : 0;
  return { min: [x - width / 2, y + bottom], max: [x + width / 2, y + bottom + height] };
}

function shapesOf(geom: Geom, i: number, scene: Scene, state: State): readonly Shape[] {
  const { kind, radius, halfLength } = geom;
  const role = roleOf(geom, scene);
  const up = upAxis(scene);
  const { geom_xpos: positions, geom_xmat: rotations } = state;
  const center: Point = [positions[3 * i]!, positions[3 * i + up]!];
  if (kind === 'other') return [];
  if (kind === 'sphere') return [circle(center, radius, role)];
  const x = rotations[9 * i + 2]! * halfLength;
  const y = rotations[9 * i + 3 * up + 2]! * halfLength;
  return [line([center[0] - x, center[1] - y], [center[0] + x, center[1] + y], 2 * radius, role)];
}

/** If the view follows the agent, marks every metre to show motion. Marks start outside the view, so none pops up. */
function surroundings({ seenFrom, follow }: Scene, { min, max }: Frame['view']): readonly Shape[] {
  if (follow === undefined) return [];
  const xs = wholeNumbers(min[0], max[0]);
  if (seenFrom === 'the side') {
    const marks = xs.flatMap((x) => [guideLine([x, -0.06], [x, 0]), xLabel(x, [x, min[1] + 0.1], 0.12)]);
    return [rectangle(min, [max[0], 0], 'ground'), ...marks];
  }
  const grid = [
    ...xs.map((x) => guideLine([x, min[1]], [x, max[1]])),
    ...wholeNumbers(min[1], max[1]).map((y) => guideLine([min[0], y], [max[0], y])),
  ];
  // Labels stay near the lower edge, away from the agent, and snap to half metres so they don't slide.
  const labelY = Math.ceil(2 * min[1]) / 2 + 0.16;
  return [...grid, ...xs.map((x) => xLabel(x, [x + 0.3, labelY], 0.2))];
}

const guideLine = (from: Point, to: Point): Shape => line(from, to, 0.015, 'guide');

const xLabel = (x: number, center: Point, height: number): Shape => text(`${x} m`, center, height, 'guide');

/** Lists the integers from ⌊from⌋ to ⌈to⌉. */
function wholeNumbers(from: number, to: number): readonly number[] {
  const first = Math.floor(from);
  return Array.from({ length: Math.ceil(to) - first + 1 }, (_, i) => first + i);
}
