/**
 * How a state of an environment looks: flat shapes in the environment's own coordinates, each with a role. Renderers (SVG,
 * GIF) choose pixels and colours. x always grows to the right and y upwards, also where rows are counted from the top.
 */

/** [x, y] */
export type Point = readonly [number, number];

/** What a shape stands for: renderers choose its colour by it. */
export type Role =
  /** What the policy moves. */
  | 'agent'
  /** Parts of the agent that lie behind or stand out: a far leg, a wheel, the tip of an arm. */
  | 'agent-detail'
  /** What plays against the agent. */
  | 'opponent'
  /** What moves and belongs to neither: a ball, a stick. */
  | 'object'
  | 'goal'
  /** What ends an episode badly: a hole, a cliff. */
  | 'danger'
  /** Floor, walls, rails, hills. */
  | 'ground'
  /** Grid lines, distance marks and their labels. */
  | 'guide';

/** Later shapes cover earlier ones. */
export type Shape =
  /** Through all `points`, with round ends and joints, `width` across: two points make a capsule. */
  | { readonly kind: 'line'; readonly points: readonly Point[]; readonly width: number; readonly role: Role }
  | { readonly kind: 'circle'; readonly centre: Point; readonly radius: number; readonly role: Role }
  | { readonly kind: 'rectangle'; readonly min: Point; readonly max: Point; readonly role: Role }
  | { readonly kind: 'polygon'; readonly points: readonly Point[]; readonly role: Role }
  /** Centred on `centre`; `height` of the font in the units of the coordinates. */
  | {
      readonly kind: 'text';
      readonly centre: Point;
      readonly height: number;
      readonly text: string;
      readonly role: Role;
    };

export interface Frame {
  /**
   * The part of the plane to show. Its size is constant for an environment, so that one scale serves all frames; its
   * place may follow the agent. Renderers clip shapes that reach beyond it.
   */
  readonly view: { readonly min: Point; readonly max: Point };
  readonly shapes: readonly Shape[];
}

export function line(from: Point, to: Point, width: number, role: Role): Shape {
  return polyline([from, to], width, role);
}

export function polyline(points: readonly Point[], width: number, role: Role): Shape {
  return { kind: 'line', points, width, role };
}

export function circle(centre: Point, radius: number, role: Role): Shape {
  return { kind: 'circle', centre, radius, role };
}

export function rectangle(min: Point, max: Point, role: Role): Shape {
  return { kind: 'rectangle', min, max, role };
}

export function polygon(points: readonly Point[], role: Role): Shape {
  return { kind: 'polygon', points, role };
}

export function text(content: string, centre: Point, height: number, role: Role): Shape {
  return { kind: 'text', centre, height, text: content, role };
}
