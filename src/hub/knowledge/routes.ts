import * as z from 'zod'
import type { AgentKnowledge } from '../../agents/contract/agents'
import { privateMemoryLimits, workspaceLimits } from '../../shared/config'
import { countAnswer, deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { type Call, type Route, route } from '../http/route'
import { type SeenAgent, toSeenAgent, viewStatements } from '../sessions/agent-view'
import { presentSessionFacts, sessionFactsAnswer } from '../sessions/snapshot'
import { changeKnowledge, factText, itemId, type KnowledgeInput } from './correct-actions'
import { knowledgeErrors } from './errors'
import { privateMemoryRoutes } from './private-routes'

const tag = 'agents'

const ownerAnswer = z
  .string()
  .nullable()
  .describe('Whose runs alone read it: `you`, or `m/name`; null: everybody’s.')

const knownAnswer = {
  id: countAnswer,
  text: z.string(),
  created_at: timeAnswer,
  private_to: ownerAnswer,
  is_untrusted: z
    .boolean()
    .describe('Noted by a run that had read text by a guest or from outside.'),
}

const knowledgeAnswer = z.object({
  facts: z.array(
    z.object({
      ...knownAnswer,
      source: z.string().describe('Where the agent has it from, as it noted.'),
      shared_at: timeAnswer.nullable().describe('When you shared it.'),
    }),
  ),
  next_before: countAnswer.nullable().describe('The `before` of the next page of facts.'),
  tasks: z.array(z.object(knownAnswer)).describe('Open tasks that the agent noted.'),
  sessions: z.array(
    sessionFactsAnswer.extend({ message_count: countAnswer, is_private: z.boolean() }),
  ),
  files: z.array(
    z.object({
      path: z.string(),
      bytes: countAnswer,
      updated_at: timeAnswer,
      private_to: ownerAnswer,
      shared_at: timeAnswer.nullable(),
      is_untrusted: z.boolean(),
    }),
  ),
  next_after: z.string().nullable().describe('The `after` of the next page of files.'),
})

function presentKnowledge(
  { facts, tasks, sessions, files, ...known }: AgentKnowledge,
  { view, labels }: SeenAgent,
): z.input<typeof knowledgeAnswer> {
  const presentOwner = (owner: string | null) =>
    owner === null ? null : owner === view.self ? 'you' : (labels.get(owner) ?? '')
  const presentKnown = (each: AgentKnowledge['tasks'][number]) => ({
    ...{ id: each.id, text: each.text, created_at: presentTime(each.createdAt) },
    ...{ private_to: presentOwner(each.privateTo), is_untrusted: each.isUntrusted },
  })
  return {
    facts: facts.map((fact) => ({
      ...presentKnown(fact),
      ...{ source: fact.source, shared_at: presentTime(fact.sharedAt) },
    })),
    next_before: known.hasMoreFacts ? (facts.at(-1)?.id ?? null) : null,
    tasks: tasks.map(presentKnown),
    sessions: sessions.map(({ messageCount, privateTo, hasShared: _, ...session }) => ({
      ...presentSessionFacts(session),
      ...{ message_count: messageCount, is_private: privateTo.length > 0 },
    })),
    files: files.map(({ path, bytes, updatedAt, privateTo, sharedAt, isUntrusted }) => ({
      ...{ path, bytes, updated_at: presentTime(updatedAt), private_to: presentOwner(privateTo) },
      ...{ shared_at: presentTime(sharedAt), is_untrusted: isUntrusted },
    })),
    next_after: known.hasMoreFiles ? (files.at(-1)?.path ?? null) : null,
  }
}

const change = async (call: Call<unknown, unknown>, input: KnowledgeInput): Promise<void> => {
  const by = { viewer: call.viewer(), reader: call.reader }
  await changeKnowledge(call.context, by, call.param('name'), input)
}

/** Returns the number of an item. @throws NOT_FOUND when it is none */
function readId({ param }: Pick<Call<unknown, unknown>, 'param'>, kind: 'fact' | 'task'): number {
  const id = itemId.safeParse(param('id'))
  if (!id.success) throw knowledgeErrors.notKnown(kind)
  return id.data
}

const write = { tag, access: 'write', rate: 'write' } as const

/** What people read and correct of what an agent knows. */
export const knowledgeRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/knowledge',
    summary:
      'Lists what an agent knows that you may see: facts, open tasks, sessions and files; sessions of threads for admins and the owner',
    tag,
    access: 'own',
    rate: 'read',
    query: z.object({
      before: z.coerce.number().int().min(1).optional(),
      after: z.string().max(workspaceLimits.pathCharsMax).optional(),
      limit: z.coerce.number().int().min(1).max(privateMemoryLimits.pageMax).default(50),
    }),
    answer: knowledgeAnswer,
    handle: async ({ context, param, query, read, reader }) => {
      const { viewer, answers } = await read(viewStatements(param('name'), reader))
      if (!viewer) throw knowledgeErrors.peopleOnly()
      const seen = await toSeenAgent(context, viewer, answers)
      const { before = null, after = null, limit } = query
      const found = await context.agents.knowledge.list(seen.id, seen.view, {
        before,
        after,
        limit,
      })
      return presentKnowledge(found, seen)
    },
  }),
  route({
    ...write,
    method: 'patch',
    path: '/agents/:name/knowledge/facts/:id',
    summary: 'Corrects a fact: one for everybody as an admin or the owner, or one private to you',
    body: factText,
    answer: z.object({}),
    handle: async (call) => {
      const { text } = call.body
      await change(call, { change: 'correct_fact', id: readId(call, 'fact'), text })
      return {}
    },
  }),
  route({
    ...write,
    method: 'delete',
    path: '/agents/:name/knowledge/facts/:id',
    summary: 'Deletes a fact: one for everybody as an admin or the owner, or one private to you',
    answer: deletedAnswer,
    handle: async (call) => {
      await change(call, { change: 'delete_fact', id: readId(call, 'fact') })
      return { deleted: call.param('id') }
    },
  }),
  route({
    ...write,
    method: 'post',
    path: '/agents/:name/knowledge/tasks/:id/close',
    summary:
      'Closes an open task: one for everybody as an admin or the owner, or one private to you',
    answer: z.object({}),
    handle: async (call) => {
      await change(call, { change: 'close_task', id: readId(call, 'task') })
      return {}
    },
  }),
  route({
    ...write,
    method: 'delete',
    path: '/agents/:name/knowledge/files',
    summary: 'Deletes a file: one for everybody as an admin or the owner, or one private to you',
    query: z.object({
      path: z.string().min(1).max(workspaceLimits.pathCharsMax),
      is_shared: z.stringbool().default(true).describe('false: the one that is private to you.'),
    }),
    answer: z.object({ deleted: z.string().describe('Its path.') }),
    handle: async (call) => {
      await change(call, { change: 'delete_file', ...call.query })
      return { deleted: call.query.path }
    },
  }),
  ...privateMemoryRoutes,
]
