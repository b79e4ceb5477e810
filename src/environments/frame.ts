/**
 * How a state of an environment looks, as data: flat shapes in the environment's own coordinates, coloured by what they
 * stand for. Renderers (SVG, GIF) decide pixels and palette; environments know neither.
 *
 * x grows to the right and y upwards, always: an environment that counts rows from the top turns them over.
 */

/** [x, y] */
export type Point = readonly [number, number];

/** What a shape stands for. */
export type Role =
  /** What the policy moves. */
  | 'agent'
  /** Parts of it that lie behind, or are to be told apart: a far leg, a wheel, the tip of an arm. */
  | 'agent-detail'
  /** What moves against it. */
  | 'opponent'
  /** What moves and is nobody's: a ball, a stick. */
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
   * The part of the plane to show. Its size stays the same while an environment lives, so that one scale serves all
   * frames; its place may follow the agent. Shapes may reach beyond it and are to be clipped.
   */
  readonly view: { readonly min: Point; readonly max: Point };
  readonly shapes: readonly Shape[];
}
