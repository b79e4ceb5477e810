/** The game's response to a command. */
import type { Action } from './actions.js';
import type { Fact } from './facts.js';
import { contents, expanded, holds, list, nameOf, preparation, roomText, type Scene } from './wording.js';

export function inventoryText(scene: Scene): string {
  const player = scene.vocabulary.number('I');
  const carried = player === undefined ? [] : contents(scene, 'in', player);
  return carried.length === 0 ? 'You are carrying nothing.' : `You are carrying: ${list(scene, carried)}.`;
}

/** @param scene after the action */
export function feedback(scene: Scene, action: Action, room: number): string {
  const verb = action.command.split(' ')[0]!;
  switch (verb) {
    case 'look':
    case 'go':
      return roomText(scene, room);
    case 'inventory':
      return inventoryText(scene);
    case 'examine':
      return examined(scene, subject(scene, action));
    case 'prepare':
      return 'Adding the meal to your inventory.';
    default:
      return changed(scene, action, verb);
  }
}

function changed(scene: Scene, action: Action, verb: string): string {
  const object = subject(scene, action);
  const name = the(scene, object);
  switch (verb) {
    case 'open': {
      const inside = contents(scene, 'in', object);
      return `You open ${name}${inside.length === 0 ? '' : `, revealing ${list(scene, inside)}`}.`;
    }
    case 'take': {
      const place = placeIn(scene, action.before, object);
      return place === undefined
        ? `You pick up ${name} from the ground.`
        : `You take ${name} from ${the(scene, place)}.`;
    }
    case 'drop':
      return `You drop ${name} on the ground.`;
    case 'put':
    case 'insert': {
      const place = placeIn(scene, action.after, object)!;
      return `You put ${name} ${verb === 'put' ? 'on' : 'into'} ${the(scene, place)}.`;
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

/** The object of the command: the one whose name comes first in it. */
function subject(scene: Scene, { command, before, after }: Action): number {
  const said = command.slice(command.indexOf(' ') + 1);
  const objects = [...new Set([...before, ...after].flatMap((fact) => fact.objects))];
  const named = objects.filter((object) => {
    const name = nameOf(scene, object);
    return name !== '' && said.startsWith(name);
  });
  // The longest name wins: `red apple` before `red`.
  return named.toSorted((a, b) => nameOf(scene, b).length - nameOf(scene, a).length)[0] ?? -1;
}

/** The container or supporter that the object is in or on. */
function placeIn({ vocabulary }: Scene, facts: readonly Fact[], object: number): number | undefined {
  const player = vocabulary.number('I');
  return facts.find(
    ({ predicate, objects }) =>
      (predicate === 'in/2' || predicate === 'on/2') && objects[0] === object && objects[1] !== player,
  )?.objects[1];
}

/** Doors take no article. */
function the(scene: Scene, object: number): string {
  const name = nameOf(scene, object);
  return scene.vocabulary.objects[object]?.type === 'd' ? name : `the ${name}`;
}

function examined(scene: Scene, object: number): string {
  const text = expanded(scene, object).trimEnd();
  const inside = holds(scene, 'open', object) ? contents(scene, 'in', object) : [];
  const on = contents(scene, 'on', object);
  const [word, objects] = inside.length > 0 ? ['In', inside] : ['On', on];
  if (objects.length === 0) return text;
  const verb = objects.length > 1 ? 'are' : 'is';
  return `${text} ${word} the ${nameOf(scene, object)} ${verb} ${list(scene, objects)}.`;
}

const numbers = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

export function scoreText(points: number): string {
  const size = Math.abs(points);
  const amount = `${numbers[size] ?? size} ${size === 1 ? 'point' : 'points'}`;
  return `Your score has just gone ${points < 0 ? 'down' : 'up'} by ${amount}.`;
}

export function endText(won: boolean, score: number, maximum: number, turns: number): string {
  return [
    won ? '*** The End ***' : '*** You lost! ***',
    `You scored ${score} out of a possible ${maximum}, in ${turns} ${turns === 1 ? 'turn' : 'turns'}.`,
    'Would you like to RESTART, RESTORE a saved game, QUIT or UNDO the last command?',
  ].join('\n\n');
}
