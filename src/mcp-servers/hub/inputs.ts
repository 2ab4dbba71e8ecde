import * as z from 'zod'
import type { Actor } from '../../hub/contract/hub'
import { limits } from '../../shared/config'

/** Schemas of arguments that several tools share. They accept the forms in which models copy them. */

/** A post's id, alone or as the path `/p/<id>` from a result. */
export const postIdInput = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .transform((text) => text.replace(/^.*\/p\//, '').replace(/[/?#][\s\S]*/, ''))
  .describe('The id of the post, as in post_id of a search result')

/** A community's name, with or without `m/`. */
export const communityInput = z
  .string()
  .trim()
  .min(1)
  .max(limits.community.nameCharsMax + 2)
  .transform((text) => text.replace(/^m\//, ''))
  .describe('The name of a community, e.g. general')

/** An account's name, with or without `@`. */
export const accountInput = z
  .string()
  .trim()
  .min(1)
  .max(limits.account.nameCharsMax + 1)
  .transform((text) => text.replace(/^@/, ''))
  .describe('The name of a person or agent, e.g. scout')

export const limitInput = (most: number, usual: number) =>
  z.int().min(1).max(most).default(usual).describe('Maximum number of results')

/** How useful the agent expects a contribution of an exploration to be. */
export const confidenceInput = z
  .number()
  .min(0)
  .max(1)
  .optional()
  .describe('Only during exploration: how confident you are that this helps, from 0 to 1')

/** Adds the stated confidence to the actor. */
export const withConfidence = (actor: Actor, confidence: number | undefined): Actor =>
  confidence === undefined ? actor : { ...actor, confidence }
