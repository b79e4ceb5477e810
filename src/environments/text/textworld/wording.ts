/** The texts of a TextWorld game: names in lists, room descriptions, and responses to commands. */

import type { WorldAction } from './actions.js';
import type { FactSet, Vocabulary, WorldFact } from './facts.js';
import type { FileObjectInfo } from './game-file.js';

export interface Scene {
  readonly vocabulary: Vocabulary;
  /** Indexed by the object's number; missing for objects that the file doesn't describe. */
  readonly infos: readonly FileObjectInfo[];
  readonly facts: FactSet;
  /** Number of the move that last moved each object; absent for objects that were never moved. */
  readonly lastMoves: ReadonlyMap<number, number>;
}

const cutWords = ['sliced', 'diced', 'chopped'];
const cookedWords = ['roasted', 'fried', 'grilled'];

function holds({ vocabulary, facts }: Scene, name: string, ...objects: readonly number[]): boolean {
  return facts.has(vocabulary.fact(name, objects));
}

/** Returns how the object is cut and cooked according to the facts; `uncut` and `raw` by default. */
function preparation(scene: Scene, object: number): { readonly cut: string; readonly cooking: string } {
  const state = (names: readonly string[]) => names.find((name) => holds(scene, name, object));
  return { cut: state(cutWords) ?? 'uncut', cooking: state(cookedWords) ?? 'raw' };
}

/** Returns the object's name in commands. */
const nameOf = ({ infos }: Scene, object: number): string => infos[object]?.name ?? '';

/** Lists the objects with `relation(object, place)`, most recently moved first, then by type and order in the file. */
function contents(scene: Scene, relation: string, place: number): readonly number[] {
  const { vocabulary, facts, lastMoves } = scene;
  const found = [...facts.withObject(`${relation}/2`, 1, place)].map(({ objects }) => objects[0]!);
  const type = (object: number) => vocabulary.objects[object]!.type;
  return found.toSorted((a, b) => {
    const difference = (lastMoves.get(b) ?? -1) - (lastMoves.get(a) ?? -1);
    if (difference !== 0) return difference;
    if (type(a) !== type(b)) return type(a) < type(b) ? -1 : 1;
    return a - b;
  });
}

/** Example: `a raw egg, an apple and a knife`. */
function list(scene: Scene, objects: readonly number[]): string {
  const phrases = objects.map((object) => {
    const name = describedName(scene, object);
    const article = scene.infos[object]?.indefinite ?? (/^[aeiou]/i.test(name) ? 'an' : 'a');
    return `${article} ${name}`;
  });
  if (phrases.length === 0) return 'nothing';
  return phrases.length === 1 ? phrases[0]! : `${phrases.slice(0, -1).join(', ')} and ${phrases.at(-1)!}`;
}

function describedName(scene: Scene, object: number): string {
  const { cut, cooking } = preparation(scene, object);
  const heat = holds(scene, 'needs_cooking', object)
    ? 'raw'
    : holds(scene, 'burned', object)
      ? 'burned'
      : cooking === 'raw'
        ? ''
        : cooking;
  return [cut === 'uncut' ? '' : cut, heat, nameOf(scene, object)].filter((word) => word !== '').join(' ');
}

export function roomText(scene: Scene, room: number): string {
  const title = titleCase(nameOf(scene, room));
  const objectsOnFloor = contents(scene, 'at', room).filter((object) => isPortable(scene, object));
  const paragraphs = [
    `-= ${title} =-\n${descriptionOf(scene, room)}`.trimEnd(),
    ...(objectsOnFloor.length === 0 ? [] : [`There is ${list(scene, objectsOnFloor)} on the floor.`]),
  ];
  return paragraphs.join('\n\n');
}

/** True if the object can lie on the floor. */
function isPortable({ vocabulary }: Scene, object: number): boolean {
  return !fixedTypes.has(vocabulary.objects[object]!.type);
}

/** Types of objects that are never listed on the floor, including the subtypes in cooking games. */
const fixedTypes: ReadonlySet<string> = new Set(['P', 'c', 's', 'd', 'r', 'oven', 'toaster', 'stove']);

const titleCase = (name: string) =>
  name.replaceAll(/[A-Za-z]+('[A-Za-z]+)?/g, (word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase());

/** Returns an object's description with its substitutions expanded. */
function descriptionOf(scene: Scene, object: number): string {
  const text = scene.infos[object]?.desc ?? '';
  const shownPieces: string[] = [];
  let isShown = true;
  let isChosen = false;
  for (const [i, piece] of text.split(/\[([^[\]]*)\]/).entries()) {
    if (i % 2 === 0) {
      if (isShown) shownPieces.push(piece);
      continue;
    }
    const [, condition] = /^(?:else )?if (.*)$/s.exec(piece) ?? [];
    if (piece.startsWith('if ')) isChosen = false;
    if (condition !== undefined) isShown = !isChosen && isTrue(scene, object, condition);
    else if (piece === 'otherwise') isShown = !isChosen;
    else if (piece === 'end if') isShown = true;
    else if (isShown) shownPieces.push(substitution(scene, object, piece));
    isChosen ||= isShown;
  }
  return toDoubleQuotes(shownPieces.join('')).replaceAll(/\n[ \t]+/g, '\n');
}

function substitution(scene: Scene, object: number, piece: string): string {
  if (piece === 'noun') return describedName(scene, object);
  const [, word, id] = /^a list of things (in|on) the (.*)$/.exec(piece) ?? [];
  const place = id === undefined ? undefined : scene.vocabulary.number(id);
  // Brackets that aren't a substitution are plain text.
  return word === undefined || place === undefined ? `[${piece}]` : list(scene, contents(scene, word, place));
}

function isTrue(scene: Scene, self: number, condition: string): boolean {
  return condition.split(' and ').every((part) => {
    const [, word, placeId] = /^there is (something|nothing) (?:in|on) the (.*)$/.exec(part) ?? [];
    if (word !== undefined) return isEmpty(scene, placeId!) === (word === 'nothing');
    const [, container] = /^the (.*) contains nothing$/.exec(part) ?? [];
    if (container !== undefined) return isEmpty(scene, container);
    const [, id, state] = /^(?:(\S+) is )?(open|closed|locked)$/.exec(part) ?? [];
    if (state === undefined) return false;
    const object = id === undefined ? self : scene.vocabulary.number(id);
    if (object === undefined) return false;
    // Locked things are also closed.
    return state === 'closed' ? !holds(scene, 'open', object) : holds(scene, state, object);
  });
}

function isEmpty(scene: Scene, id: string): boolean {
  const place = scene.vocabulary.number(id);
  if (place === undefined) return true;
  return contents(scene, 'in', place).length + contents(scene, 'on', place).length === 0;
}

/** Turns single quotes that aren't within a word into double quotes. */
export const toDoubleQuotes = (text: string): string =>
  text.replaceAll(/(?<![A-Za-z0-9])'|'(?![A-Za-z0-9])/g, '"');

/** @returns the reason why the meal can't be prepared yet; undefined if nothing is missing */
export function mealProblem(scene: Scene): string | undefined {
  const { vocabulary, facts } = scene;
  const recipe = vocabulary.number('RECIPE');
  const player = vocabulary.number('I');
  if (recipe === undefined || player === undefined) return undefined;
  const ingredients = [...facts.withObject('in/2', 1, recipe)].map(({ objects }) => objects[0]!);
  for (const ingredient of ingredients.toSorted((a, b) => a - b)) {
    const food = [...facts.withObject('base/2', 1, ingredient)][0]?.objects[0];
    if (food === undefined || !holds(scene, 'in', food, player)) return 'You still miss something.';
    const [wanted, actual] = [preparation(scene, ingredient), preparation(scene, food)];
    if (wanted.cooking !== actual.cooking) return 'Something still needs to be cooked.';
    if (wanted.cut !== actual.cut) return 'Something still needs to be cut.';
  }
  return undefined;
}

export function inventoryText(scene: Scene): string {
  const player = scene.vocabulary.number('I');
  const carried = player === undefined ? [] : contents(scene, 'in', player);
  return carried.length === 0 ? 'You are carrying nothing.' : `You are carrying: ${list(scene, carried)}.`;
}

/** Returns the response to an action. @param scene the scene after the action */
export function responseText(scene: Scene, action: WorldAction, room: number): string {
  const verb = action.command.split(' ')[0]!;
  switch (verb) {
    case 'look':
    case 'go':
      return roomText(scene, room);
    case 'inventory':
      return inventoryText(scene);
    case 'examine':
      return examineText(scene, commandObject(scene, action));
    case 'prepare':
      return 'Adding the meal to your inventory.';
    default:
      return changeText(scene, action, verb);
  }
}

function changeText(scene: Scene, action: WorldAction, verb: string): string {
  const object = commandObject(scene, action);
  const name = withArticle(scene, object);
  switch (verb) {
    case 'open': {
      const inside = contents(scene, 'in', object);
      return `You open ${name}${inside.length === 0 ? '' : `, revealing ${list(scene, inside)}`}.`;
    }
    case 'take': {
      const place = containerOf(scene, action.before, object);
      return place === undefined
        ? `You pick up ${name} from the ground.`
        : `You take ${name} from ${withArticle(scene, place)}.`;
    }
    case 'drop':
      return `You drop ${name} on the ground.`;
    case 'put':
    case 'insert': {
      const place = containerOf(scene, action.after, object)!;
      return `You put ${name} ${verb === 'put' ? 'on' : 'into'} ${withArticle(scene, place)}.`;
    }
    case 'eat':
    case 'drink':
      return `You ${verb} ${name}. Not bad.`;
    case 'cook':
      return holds(scene, 'burned', object)
        ? `You burned ${name}!`
        : `You ${preparation(scene, object).cooking} ${name}.`;
    default:
      return `You ${verb} ${name}.`;
  }
}

/** Finds the object that a command names after the verb; -1 if there is none. */
function commandObject(scene: Scene, { command, before, after }: WorldAction): number {
  const objectText = command.slice(command.indexOf(' ') + 1);
  const objects = [...new Set([...before, ...after].flatMap((fact) => fact.objects))];
  const namedObjects = objects.filter((object) => {
    const name = nameOf(scene, object);
    return name !== '' && objectText.startsWith(name);
  });
  // The longest name wins: `red apple` before `red`.
  return namedObjects.toSorted((a, b) => nameOf(scene, b).length - nameOf(scene, a).length)[0] ?? -1;
}

/** Returns the container or surface that holds the object; undefined if there is none. The player doesn't count. */
function containerOf({ vocabulary }: Scene, facts: readonly WorldFact[], object: number): number | undefined {
  const player = vocabulary.number('I');
  return facts.find(
    ({ predicate, objects }) =>
      (predicate === 'in/2' || predicate === 'on/2') && objects[0] === object && objects[1] !== player,
  )?.objects[1];
}

/** Returns the object's name with `the`, except for doors. */
function withArticle(scene: Scene, object: number): string {
  const name = nameOf(scene, object);
  return scene.vocabulary.objects[object]?.type === 'd' ? name : `the ${name}`;
}

function examineText(scene: Scene, object: number): string {
  const text = descriptionOf(scene, object).trimEnd();
  const objectsInside = holds(scene, 'open', object) ? contents(scene, 'in', object) : [];
  const objectsOn = contents(scene, 'on', object);
  const [preposition, objects] = objectsInside.length > 0 ? ['In', objectsInside] : ['On', objectsOn];
  if (objects.length === 0) return text;
  const verb = objects.length > 1 ? 'are' : 'is';
  return `${text} ${preposition} the ${nameOf(scene, object)} ${verb} ${list(scene, objects)}.`;
}

const numberWords = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

export function scoreText(points: number): string {
  const magnitude = Math.abs(points);
  const amount = `${numberWords[magnitude] ?? magnitude} ${magnitude === 1 ? 'point' : 'points'}`;
  return `Your score has just gone ${points < 0 ? 'down' : 'up'} by ${amount}.`;
}

export function endText(won: boolean, score: number, maximum: number, turnCount: number): string {
  return [
    won ? '*** The End ***' : '*** You lost! ***',
    `You scored ${score} out of a possible ${maximum}, in ${turnCount} ${turnCount === 1 ? 'turn' : 'turns'}.`,
    'Would you like to RESTART, RESTORE a saved game, QUIT or UNDO the last command?',
  ].join('\n\n');
}
