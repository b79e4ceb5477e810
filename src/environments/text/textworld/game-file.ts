/** The `.json` file of a TextWorld game: its world, quests, names and the text of its rules. */
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../base/files/files.js';

const argumentSchema = z.object({ name: z.string(), type: z.string() });
const propositionSchema = z.object({ name: z.string(), arguments: z.array(argumentSchema) });
const actionSchema = z.object({
  name: z.string(),
  preconditions: z.array(propositionSchema),
  postconditions: z.array(propositionSchema),
});
const eventSchema = z.object({ actions: z.array(actionSchema).default([]), condition: actionSchema });
const infoSchema = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string().nullish(),
  desc: z.string().nullish(),
  indefinite: z.string().nullish(),
});

const gameSchema = z.object({
  version: z.literal(1),
  world: z.array(propositionSchema).min(1),
  quests: z.array(
    z.object({
      desc: z.string().nullish(),
      reward: z.number(),
      win_events: z.array(eventSchema),
      fail_events: z.array(eventSchema),
      optional: z.boolean().default(false),
      repeatable: z.boolean().default(false),
    }),
  ),
  infos: z.array(z.tuple([z.string(), infoSchema])),
  KB: z.object({ logic: z.string() }),
  objective: z.string().nullish(),
  metadata: z.object({ walkthrough: z.array(z.string()).nullish() }).default({}),
});

export type GameFile = z.output<typeof gameSchema>;
export type FileProposition = z.output<typeof propositionSchema>;
export type FileAction = z.output<typeof actionSchema>;
export type FileObjectInfo = z.output<typeof infoSchema>;
export type FileQuest = GameFile['quests'][number];

/** @throws UserError if the file is missing or isn't a TextWorld game */
export function readGame(file: string): GameFile {
  const content = readJson(file);
  if (content === undefined)
    throw new UserError({
      file,
      message: 'the game file does not exist',
      hint: 'choose the .json file that tw-make writes next to the .z8 file',
    });
  return checkedValue(gameSchema, content, file);
}

/** Returns the game's objective; if there is none, joins the quests' descriptions, as TextWorld does. */
export function objectiveOf({ objective, quests }: GameFile): string {
  return objective ?? quests.flatMap(({ desc }) => desc || []).join('\nAND\n');
}
