import * as z from 'zod'
import { definitionLimits } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { countAnswer, presenterOf, timeAnswer, warningsAnswer } from '../http/answers'
import { type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { restoreDefinition, type SavedDefinition, saveDefinition } from './definition-actions'
import {
  type DefinitionRow,
  selectDefinition,
  selectVersions,
  type VersionRow,
} from './definition-queries'
import { definitionErrors, type Editor, requireEditor } from './definition-rules'
import { applyHeld, applyInput, discardHeld, discardInput } from './held-actions'
import { type HeldDefinition, selectHeld } from './held-queries'

const route = routesOf('agents')

const factsAnswer = z.object({
  agent_id: z.string(),
  name: z.string(),
  version: countAnswer,
  etag: z.string().describe('Hash of the files.'),
  model: z.string(),
  grants: z.array(z.string()).describe('The grants that the definition requests.'),
  is_paused: z.boolean(),
  created_at: timeAnswer,
})

const heldAnswer = z.object({
  etag: z.string().describe('Hash of the files.'),
  base_version: countAnswer.describe('The active version when it was saved.'),
  saved_by: personAnswer,
  saved_at: timeAnswer,
  set: z.string().describe('The set of runs on which it is tried.'),
  trial_id: z.string().nullable().describe('Null when no trial could start.'),
  problem: z.string().nullable().describe('Why it is not applied; null while its trial decides.'),
})

const presentHeld = presenterOf(heldAnswer).from<HeldDefinition>({ set: ({ gate }) => gate.set })

const definitionAnswer = z.object({
  definition: factsAnswer.describe('The active version.'),
  warnings: warningsAnswer,
})
const savedAnswer = definitionAnswer.extend({
  held: heldAnswer
    .nullable()
    .describe('A saved change that becomes the active version when it has passed its trial.'),
})

const presentFacts = presenterOf(factsAnswer).from<DefinitionRow>({})

const presentDefinition = (row: DefinitionRow): z.input<typeof definitionAnswer> => ({
  definition: presentFacts(row),
  warnings: row.warnings as z.input<typeof warningsAnswer>,
})

const presentSaved = ({ held, ...row }: SavedDefinition): z.input<typeof savedAnswer> => ({
  ...presentDefinition(row),
  held: held && presentHeld(held),
})

const versionInput = z.int().min(0).max(1_000_000)

const filesInput = knownFields({
  files: z
    .record(z.string().min(1).max(200), z.string().max(definitionLimits.fileCharsMax))
    .refine(
      (files) => Object.keys(files).length <= definitionLimits.filesMax,
      `Must have at most ${definitionLimits.filesMax} files`,
    ),
  base_version: versionInput
    .optional()
    .describe(
      'The version that these files started from, 0 for a new agent. Another current version is a conflict (409) with the differences. Default: no check; required for an agent of somebody else.',
    ),
  allow_grants: z
    .array(z.string().trim().min(1).max(200))
    .max(100)
    .default([])
    .describe('Grants to add to the policy of the agent.'),
})

const restoreInput = knownFields({
  version: versionInput.describe('The version whose files become the new version.'),
  base_version: versionInput.optional().describe('The current version, to refuse a conflict.'),
})

const filesAnswer = z
  .record(z.string(), z.string())
  .nullable()
  .describe('Text by path, as they were saved; null when the bucket does not have all of them.')

const versionsAnswer = z.object({
  versions: z.array(
    z.object({
      version: countAnswer,
      etag: z.string(),
      created_at: timeAnswer,
      created_by: personAnswer.nullable().describe('The author.'),
    }),
  ),
})

const presentVersion = presenterOf(versionsAnswer.shape.versions.element).from<VersionRow>({})

/** @throws FORBIDDEN for others than admins and the owner; that an agent exists is public */
function requireReader(viewer: Editor | null, ownerId: AccountId | null | undefined): void {
  if (!viewer) throw definitionErrors.notOwner()
  requireEditor(viewer, ownerId ?? null)
}

export const definitionRoutes: Route[] = [
  route({
    method: 'put',
    path: '/agents/:name/definition',
    summary:
      "Validates and loads an agent's definition; an invalid definition changes nothing (admin, or the member who owns the agent; a new one belongs to the member who creates it)",
    access: 'write',
    body: filesInput,
    answer: savedAnswer,
    handle: async (call) => {
      const { files, base_version: baseVersion, allow_grants: allowGrants } = call.body
      const options = { baseVersion, allowGrants }
      const name = call.param('name')
      const row = await saveDefinition(call.context, call.viewer(), name, files, options)
      return presentSaved(row)
    },
  }),
  route({
    method: 'get',
    path: '/agents/:name/definition',
    summary: 'Returns the active version of an agent’s definition with its files (admin or owner)',
    access: 'own',
    query: z.object({
      version: z.coerce
        .number()
        .pipe(versionInput)
        .optional()
        .describe('An earlier version, whose files are returned instead.'),
    }),
    answer: savedAnswer.extend({ files: filesAnswer }),
    handle: async ({ context, param, query, read }) => {
      const name = param('name')
      const { viewer, answers } = await read({
        definition: selectDefinition({ name }),
        versions: query.version === undefined ? null : selectVersions({ name }),
        held: selectHeld({ name }),
      })
      const { definition, versions, held = null } = answers
      requireReader(viewer, definition?.ownerId)
      if (!definition) throw definitionErrors.notFound()
      const { version = definition.version } = query
      const found = versions ? versions.find((each) => each.version === version) : definition
      if (!found) throw definitionErrors.noVersion(name, version)
      return {
        ...presentSaved({ ...definition, held }),
        files: await context.agents.readDefinition(name, found.etag),
      }
    },
  }),
  route({
    method: 'get',
    path: '/agents/:name/definition/versions',
    summary: 'Lists the versions of an agent’s definition, newest first (admin or owner)',
    access: 'own',
    answer: versionsAnswer,
    handle: async ({ param, read }) => {
      const { viewer, answers } = await read({ rows: selectVersions({ name: param('name') }) })
      const { rows } = answers
      requireReader(viewer, rows[0]?.ownerId)
      if (rows.length === 0) throw definitionErrors.notFound()
      return {
        versions: rows.map(presentVersion),
      }
    },
  }),
  route({
    method: 'post',
    path: '/agents/:name/definition/restore',
    summary:
      'Makes the files of an earlier version the new version of a definition (admin or owner)',
    access: 'write',
    body: restoreInput,
    answer: savedAnswer,
    handle: async ({ context, body, param, viewer }) =>
      presentSaved(
        await restoreDefinition(context, viewer(), param('name'), {
          version: body.version,
          baseVersion: body.base_version,
        }),
      ),
  }),
  route({
    method: 'post',
    path: '/agents/:name/definition/held/apply',
    summary:
      'Makes a saved change that waits for its trial the active version, whatever the trial shows',
    access: 'admin',
    body: applyInput,
    answer: definitionAnswer,
    handle: async ({ context, body, param, viewer }) =>
      presentDefinition(await applyHeld(context, viewer(), param('name'), body)),
  }),
  route({
    method: 'delete',
    path: '/agents/:name/definition/held',
    summary: 'Discards a saved change that waits for its trial, and cancels that (admin or owner)',
    access: 'write',
    query: discardInput,
    answer: z.object({ discarded: z.string().describe('Hash of its files.') }),
    handle: async ({ context, param, query, viewer }) => ({
      discarded: await discardHeld(context, viewer(), param('name'), query),
    }),
  }),
]
