import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { countAnswer, presentTime, timeAnswer, warningsAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { putDefinition } from './actions'
import { definitionErrors } from './errors'
import { type DefinitionRow, selectDefinition } from './queries'

const tag = 'agents'

const definitionAnswer = z.object({
  definition: z.object({
    agent_id: z.string(),
    name: z.string(),
    version: countAnswer,
    etag: z.string().describe('Hash of the files.'),
    model: z.string(),
    grants: z.array(z.string()).describe('The grants that the definition requests.'),
    is_paused: z.boolean(),
    created_at: timeAnswer,
  }),
  warnings: warningsAnswer,
})

const filesAnswer = definitionAnswer.extend({
  files: z
    .record(z.string(), z.string())
    .optional()
    .describe('Its files by path, with include_files.'),
})

const presentDefinition = (row: DefinitionRow): z.input<typeof definitionAnswer> => ({
  definition: {
    agent_id: row.agentId,
    name: row.name,
    version: row.version,
    etag: row.etag,
    model: row.model,
    grants: row.grants,
    is_paused: row.isPaused,
    created_at: presentTime(row.createdAt),
  },
  warnings: row.warnings as z.input<typeof warningsAnswer>,
})

const filesInput = z.object({
  files: z
    .record(z.string().min(1).max(200), z.string().max(200_000))
    .refine((files) => Object.keys(files).length <= 100, 'Must have at most 100 files'),
})

export const definitionRoutes: Route[] = [
  route({
    method: 'put',
    path: '/agents/:name/definition',
    summary:
      "Validates and loads an agent's definition; an invalid definition changes nothing (admin)",
    tag,
    access: 'admin',
    rate: 'write',
    body: filesInput,
    answer: definitionAnswer,
    handle: async (call) => {
      const { files } = call.body
      const row = await putDefinition(call.context, call.actor(), call.param('name'), files)
      return presentDefinition(row)
    },
  }),
  route({
    method: 'get',
    path: '/agents/:name/definition',
    summary: 'Returns the active version of an agent’s definition (admin)',
    tag,
    access: 'admin',
    rate: 'read',
    query: z.object({ include_files: z.stringbool().default(false) }),
    answer: filesAnswer,
    handle: async ({ context, param, query }) => {
      const row = await run(context.db, selectDefinition({ name: param('name') }))
      if (!row) throw definitionErrors.notFound()
      if (!query.include_files) return presentDefinition(row)
      const files = await context.agents.readDefinitionFiles(row.name, row.etag)
      return { ...presentDefinition(row), files }
    },
  }),
]
