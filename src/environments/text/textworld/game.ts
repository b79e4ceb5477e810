/** Plays a TextWorld game using only its `.json` file, which contains its rules, quests and texts. */
import type { TextGame, TextTurn } from '../text-game.js';
import { ActionFinder, type WorldAction } from './actions.js';
import { FactSet, Vocabulary, type WorldFact, type WorldObject } from './facts.js';
import {
  type FileObjectInfo,
  type FileProposition,
  type FileQuest,
  type GameFile,
  objectiveOf,
} from './game-file.js';
import { type Logic, parseLogic } from './logic.js';
import { makePlan } from './plan.js';
import { type Dialect, maximumScore, type Quest, QuestLog } from './quests.js';
import {
  endText,
  inventoryText,
  mealProblem,
  responseText,
  roomText,
  type Scene,
  scoreText,
  toDoubleQuotes,
} from './wording.js';

export interface TextWorldGame {
  readonly dialect: Dialect;
  readonly vocabulary: Vocabulary;
  readonly infos: readonly FileObjectInfo[];
  readonly logic: Logic;
  readonly initialFacts: readonly WorldFact[];
  readonly quests: readonly Quest[];
  readonly objective: string;
  readonly maxScore: number;
  /** Commands that win, if the file contains them. */
  readonly walkthrough: readonly string[] | undefined;
}

/** @throws UserError for rules that can't be parsed */
export function buildGame(file: GameFile, dialect: Dialect): TextWorldGame {
  const logic = parseLogic(file.KB.logic);
  const infos = file.infos.map(([, info]) => info);
  const knownIds = new Set(infos.map(({ id }) => id));
  const otherObjects = new Map<string, WorldObject>();
  for (const { arguments: args } of [...file.world, ...file.quests.flatMap(propositionsOf)])
    for (const { name, type } of args) if (!knownIds.has(name)) otherObjects.set(name, { id: name, type });
  const vocabulary = new Vocabulary([...infos, ...otherObjects.values()]);
  const factOf = ({ name, arguments: args }: FileProposition) =>
    vocabulary.fact(
      name,
      args.map((argument) => vocabulary.number(argument.name)!),
    );
  const quests = file.quests.map((quest) => questOf(quest, factOf, logic, dialect));
  return {
    dialect,
    vocabulary,
    infos,
    logic,
    initialFacts: file.world.map(factOf),
    quests,
    objective: toDoubleQuotes(objectiveOf(file)),
    maxScore: maximumScore(quests),
    walkthrough: file.metadata.walkthrough ?? undefined,
  };
}

function propositionsOf({ win_events, fail_events }: FileQuest): FileProposition[] {
  return [...win_events, ...fail_events].flatMap(({ condition, actions }) =>
    [condition, ...actions].flatMap((rule) => [...rule.preconditions, ...rule.postconditions]),
  );
}

function questOf(
  { reward, optional, repeatable, win_events, fail_events }: FileQuest,
  factOf: (proposition: FileProposition) => WorldFact,
  logic: Logic,
  dialect: Dialect,
): Quest {
  const eventsOf = (fileEvents: FileQuest['win_events']) =>
    fileEvents.map(({ actions, condition }) => ({
      condition: condition.preconditions.map(factOf),
      plan:
        dialect === 'json' && actions.length > 0
          ? makePlan([...actions, condition], factOf, logic.reverseRules)
          : undefined,
    }));
  return { reward, optional, repeatable, winEvents: eventsOf(win_events), failEvents: eventsOf(fail_events) };
}

export class TextWorldPlay implements TextGame {
  readonly maxScore: number;
  readonly gold: readonly string[] | undefined;
  readonly #game: TextWorldGame;
  readonly #finder: ActionFinder;
  #facts!: FactSet;
  #quests!: QuestLog;
  #lastMoves = new Map<number, number>();
  #moves = 0;
  #commandCount = 0;
  #actions = new Map<string, WorldAction>();
  #admissible: readonly string[] = [];

  constructor(game: TextWorldGame) {
    const { logic, vocabulary, infos } = game;
    this.#game = game;
    this.maxScore = game.maxScore;
    this.gold = game.walkthrough;
    const objectNames = vocabulary.objects.map((_, i) => infos[i]?.name ?? '');
    this.#finder = new ActionFinder(logic, vocabulary, objectNames);
  }

  get admissible(): readonly string[] {
    return this.#admissible;
  }
  get score(): number {
    return this.#quests.score;
  }
  get won(): boolean {
    return this.#quests.won;
  }
  get lost(): boolean {
    return this.#quests.lost;
  }
  get moves(): number {
    return this.#moves;
  }
  get objective(): string | undefined {
    return this.#game.objective || undefined;
  }
  get description(): string {
    return roomText(this.#scene, this.#room);
  }
  get inventory(): string {
    return inventoryText(this.#scene);
  }

  start(): string {
    this.#facts = new FactSet(this.#game.initialFacts);
    this.#quests = new QuestLog(this.#game.quests, this.#game.dialect, this.#facts);
    this.#lastMoves = new Map();
    this.#moves = 0;
    this.#commandCount = 0;
    this.#find(undefined);
    const { objective } = this.#game;
    return (objective === '' ? '' : `${objective}\n\n`) + this.description;
  }

  step(command: string): TextTurn {
    this.#commandCount++;
    const action = this.#actions.get(command.trim());
    if (action === undefined) return { text: this.#refusal(command.trim()), understood: false };
    if (this.#game.dialect === 'z8' && isMeal(action)) {
      const problem = mealProblem(this.#scene);
      if (problem !== undefined) return { text: problem, understood: true };
    }
    const previousScore = this.score;
    this.#do(action);
    return { text: this.#text(action, this.score - previousScore), understood: true };
  }

  /** Executes an action reported by the compiled game, such as `opening the trunk`. @returns false if it is unknown */
  follow(event: string): boolean {
    const matches = this.#finder.currentActions().filter((action) => action.event === event);
    const [action] = matches.toSorted((a, b) => b.before.length - a.before.length);
    if (action !== undefined) this.#do(action);
    return action !== undefined;
  }

  #do(action: WorldAction): void {
    this.#moves++;
    const changedPredicates = this.#apply(action);
    this.#quests.update(this.#facts, action);
    if (changedPredicates.size > 0) this.#find(changedPredicates);
  }

  #refusal(command: string): string {
    const [, verb, name] = /^(open|close) (.*)$/.exec(command) ?? [];
    const oppositeVerb = verb === 'open' ? 'close' : 'open';
    const isAlreadyDone = verb !== undefined && this.#actions.has(`${oppositeVerb} ${name}`);
    return isAlreadyDone && this.#game.dialect === 'z8'
      ? `That's already ${verb === 'open' ? 'open' : 'closed'}.`
      : 'Invalid command.';
  }

  get #scene(): Scene {
    const { vocabulary, infos } = this.#game;
    return { vocabulary, infos, facts: this.#facts, lastMoves: this.#lastMoves };
  }

  get #room(): number {
    const player = this.#game.vocabulary.number('P')!;
    return [...this.#facts.withObject('at/2', 0, player)][0]!.objects[1]!;
  }

  /** @returns the predicates that changed */
  #apply({ before, after }: WorldAction): ReadonlySet<string> {
    const changedPredicates = new Set<string>();
    for (const fact of after) {
      if (before.includes(fact) || !this.#facts.add(fact)) continue;
      changedPredicates.add(fact.predicate);
      if (placePredicates.has(fact.predicate)) this.#lastMoves.set(fact.objects[0]!, this.#moves);
    }
    for (const fact of before)
      if (!after.includes(fact) && this.#facts.delete(fact)) changedPredicates.add(fact.predicate);
    return changedPredicates;
  }

  #find(changed: ReadonlySet<string> | undefined): void {
    const actions = new Map<string, WorldAction>();
    const { dialect } = this.#game;
    for (const action of this.#finder.find(this.#facts, changed).flat()) {
      const other = actions.get(action.command);
      // If actions share a command, compiled games take the one with the most preconditions, TextWorld the first.
      const isBetter =
        other === undefined || (dialect === 'z8' && action.before.length > other.before.length);
      if (isBetter) actions.set(action.command, action);
    }
    this.#actions = actions;
    this.#admissible = [...actions.keys()].toSorted();
  }

  #text(action: WorldAction, points: number): string {
    const hasEnded = this.won || this.lost;
    return [
      responseText(this.#scene, action, this.#room),
      ...(points === 0 ? [] : [scoreText(points)]),
      ...(hasEnded
        ? [endText(!this.lost, this.score, this.#game.maxScore, this.#commandCount + (this.lost ? 0 : 1))]
        : []),
    ].join('\n\n');
  }
}

const placePredicates: ReadonlySet<string> = new Set(['in/2', 'on/2', 'at/2']);

const isMeal = ({ rule }: WorldAction) => rule.startsWith('make/recipe');
