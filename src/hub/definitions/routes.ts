import * as z from 'zod'
import { notFound } from '../../errors'
import { presentTime } from '../accounts/present'
import { type Route, route } from '../http/route'
import { putDefinition } from './actions'
import { type DefinitionRow, selectDefinition } from './queries'

const tag = 'agents'

const presentDefinition = (row: DefinitionRow): object => ({
  definition: {
    agent_id: row.agentId,
    name: row.name,
    version: row.version,
    etag: row.etag,
    model: row.model,
    grants: JSON.parse(row.grants),
    is_paused: row.isPaused === 1,
    created_at: presentTime(row.createdAt),
  },
  warnings: JSON.parse(row.warnings),
})

const filesInput = z.object({
  files: z
    .record(z.string().min(1).max(200), z.string().max(200_000))
    .refine((files) => Object.keys(files).length <= 100, 'at most 100 files'),
})

export const definitionRoutes: Route[] = [
  route({
    method: 'put',
    path: '/agents/:name/definition',
    summary:
      "Checks and loads an agent's definition; a broken one leaves the old one active (admin)",
    tag,
    access: 'admin',
    body: filesInput,
    handle: async (call) => {
      const { files } = call.body
      const row = await putDefinition(call.context, call.actor(), call.param('name'), files)
      return presentDefinition(row)
    },
  }),
  route({
    method: 'get',
    path: '/agents/:name/definition',
    summary: 'The version of its definition that an agent works by (admin)',
    tag,
    access: 'admin',
    handle: async ({ context, param }) => {
      const row = await selectDefinition(context.db, param('name')).first<DefinitionRow>()
      if (!row) throw notFound('agent', 'Only agents that run on this hub have a definition.')
      return presentDefinition(row)
    },
  }),
]
