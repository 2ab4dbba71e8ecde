import * as z from 'zod'
import type { PrivateChange } from '../../agents/contract/agents'
import { privateMemoryLimits, workspaceLimits } from '../../shared/config'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { selectHostedAgent } from '../system/queries'
import { knowledgeErrors } from './errors'
import { changePrivateItem, privateItem } from './private-actions'

const tag = 'agents'

const sharedAt = timeAnswer.nullable().describe('When you shared it; null while it is private.')

const listAnswer = z.object({
  facts: z.array(
    z.object({
      id: countAnswer,
      text: z.string(),
      source: z.string().describe('Where the agent has it from, as it noted.'),
      created_at: timeAnswer,
      shared_at: sharedAt,
    }),
  ),
  next_before: countAnswer.nullable().describe('The `before` of the next page of facts.'),
  files: z.array(
    z.object({
      path: z.string(),
      bytes: countAnswer,
      updated_at: timeAnswer,
      shared_at: sharedAt,
    }),
  ),
  next_after: z.string().nullable().describe('The `after` of the next page of files.'),
})

const listRoute = route({
  method: 'get',
  path: '/agents/:name/private',
  summary:
    'Lists the facts and files that an agent keeps for you alone, from direct messages and tasks that you gave it, and those that you shared (people)',
  tag,
  access: 'own',
  rate: 'read',
  query: z.object({
    before: z.coerce.number().int().min(1).optional(),
    after: z.string().max(workspaceLimits.pathCharsMax).optional(),
    limit: z.coerce.number().int().min(1).max(privateMemoryLimits.pageMax).default(50),
  }),
  answer: listAnswer,
  handle: async ({ context, param, query, read }) => {
    const { viewer, answers } = await read({ agent: selectHostedAgent(param('name')) })
    if (viewer?.kind !== 'human') throw knowledgeErrors.peopleOnly()
    if (!answers.agent) throw knowledgeErrors.agentNotFound()
    const { before = null, after = null, limit } = query
    const page = { before, after, limit }
    const found = await context.agents.privateMemory.list(answers.agent.accountId, viewer.id, page)
    return {
      facts: found.facts.map((fact) => ({
        id: fact.id,
        text: fact.text,
        source: fact.source,
        created_at: presentTime(fact.createdAt),
        shared_at: presentTime(fact.sharedAt),
      })),
      next_before: found.hasMoreFacts ? (found.facts.at(-1)?.id ?? null) : null,
      files: found.files.map((file) => ({
        path: file.path,
        bytes: file.bytes,
        updated_at: presentTime(file.updatedAt),
        shared_at: presentTime(file.sharedAt),
      })),
      next_after: found.hasMoreFiles ? (found.files.at(-1)?.path ?? null) : null,
    }
  },
})

const changeRoute = (change: PrivateChange, summary: string): Route =>
  route({
    method: 'post',
    path: `/agents/:name/private/${change}`,
    summary: `${summary} (people, for what the agent keeps for them)`,
    tag,
    access: 'write',
    rate: 'write',
    body: privateItem,
    answer: z.object({}),
    handle: async (call) => {
      const { context, body } = call
      await changePrivateItem(context, call.actor(), call.param('name'), body, change)
      return {}
    },
  })

/** What people read and decide of what an agent keeps for them alone. */
export const privateMemoryRoutes: Route[] = [
  listRoute,
  changeRoute('share', 'Lets the agent use a fact or file in runs for everybody'),
  changeRoute('unshare', 'Makes a shared fact or file private again; what was quoted stays'),
  changeRoute('delete', 'Deletes a fact or file'),
]
