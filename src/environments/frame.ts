/** Pictures of states: flat shapes, in units that the environment chooses. x points right and y up. */

/** [x, y] */
export type Point = readonly [number, number];

/** The role of a shape; renderers choose its colour by role. */
export type Role =
  /** The part that the policy moves. */
  | 'agent'
  /** Background or contrasting parts of the agent: a far leg, a wheel, the tip of an arm. */
  | 'agent-detail'
  | 'opponent'
  /** A moving object that belongs to neither side: a ball, a stick. */
  | 'object'
  | 'goal'
  /** Something to avoid: a hole, a cliff. */
  | 'danger'
  /** Floor, walls, rails, hills. */
  | 'ground'
  /** Grid lines, marks and labels. */
  | 'guide';

/** Later shapes cover earlier ones. */
export type Shape =
  /** A path through `points`, `width` wide, with round caps and joins; two points make a capsule. */
  | { readonly kind: 'line'; readonly points: readonly Point[]; readonly width: number; readonly role: Role }
  | { readonly kind: 'circle'; readonly center: Point; readonly radius: number; readonly role: Role }
  | { readonly kind: 'rectangle'; readonly min: Point; readonly max: Point; readonly role: Role }
  | { readonly kind: 'polygon'; readonly points: readonly Point[]; readonly role: Role }
  /** Text centred on `center`; `height` is the font height in coordinate units. */
  | {
      readonly kind: 'text';
      readonly center: Point;
      readonly height: number;
      readonly text: string;
      readonly role: Role;
    };

export interface Frame {
  /** The visible part of the plane, of constant size; it may follow the agent. Renderers clip the rest. */
  readonly view: { readonly min: Point; readonly max: Point };
  readonly shapes: readonly Shape[];
}

export function line(from: Point, to: Point, width: number, role: Role): Shape {
  return polyline([from, to], width, role);
}

export function polyline(points: readonly Point[], width: number, role: Role): Shape {
  return { kind: 'line', points, width, role };
}

export function circle(center: Point, radius: number, role: Role): Shape {
  return { kind: 'circle', center, radius, role };
}

export function rectangle(min: Point, max: Point, role: Role): Shape {
  return { kind: 'rectangle', min, max, role };
}

export function polygon(points: readonly Point[], role: Role): Shape {
  return { kind: 'polygon', points, role };
}

export function text(content: string, center: Point, height: number, role: Role): Shape {
  return { kind: 'text', center, height, text: content, role };
}
