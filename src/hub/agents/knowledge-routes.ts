import * as z from 'zod'
import type {
  AgentKnowledge,
  PrivateChange,
  PrivateFact,
  PrivateFile,
} from '../../agents/contract/agents'
import { workspaceLimits } from '../../shared/config'
import {
  countAnswer,
  deletedAnswer,
  pageFields,
  presenterOf,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { type Call, type Route, routesOf } from '../http/route'
import { selectHostedAgent } from '../operations/system-queries'
import {
  presentSessionFacts,
  type SeenAgent,
  sessionFactsAnswer,
  toSeenAgent,
  viewStatements,
} from '../runs/session-actions'
import {
  changeKnowledge,
  changePrivateItem,
  factText,
  itemId,
  type KnowledgeInput,
  knowledgeErrors,
  memoryPageQuery,
  privateItem,
  readMemoryPage,
  toMemoryPageFields,
} from './knowledge-actions'

const route = routesOf('agents')

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
  files: z.array(
    z.object({
      path: z.string(),
      bytes: countAnswer,
      updated_at: timeAnswer,
      shared_at: sharedAt,
    }),
  ),
  ...pageFields,
})

const presentOwnFact = presenterOf(listAnswer.shape.facts.element).from<PrivateFact>({})

const presentOwnFile = presenterOf(listAnswer.shape.files.element).from<PrivateFile>({})

const listRoute = route({
  method: 'get',
  path: '/agents/:name/private',
  summary:
    'Lists the facts and files that an agent keeps for you alone, from direct messages and tasks that you gave it, and those that you shared (people)',
  access: 'own',
  query: memoryPageQuery,
  answer: listAnswer,
  handle: async ({ context, list, param, query, read }) => {
    const { viewer, answers } = await read({ agent: selectHostedAgent(param('name')) })
    if (viewer?.kind !== 'human') throw knowledgeErrors.peopleOnly()
    if (!answers.agent) throw knowledgeErrors.agentNotFound()
    const page = readMemoryPage(list, query)
    const found = await context.agents.privateMemory.list(answers.agent.accountId, viewer.id, page)
    return {
      facts: found.facts.map(presentOwnFact),
      files: found.files.map(presentOwnFile),
      ...toMemoryPageFields(list, page, found),
    }
  },
})

const changeRoute = (change: PrivateChange, summary: string): Route =>
  route({
    method: 'post',
    path: `/agents/:name/private/${change}`,
    summary: `${summary} (people, for what the agent keeps for them)`,
    access: 'write',
    body: privateItem,
    answer: z.object({}),
    handle: async (call) => {
      const { context, body } = call
      await changePrivateItem(context, call.actor(), call.param('name'), body, change)
      return {}
    },
  })

/** What people read and decide of what an agent keeps for them alone. */
const privateMemoryRoutes: Route[] = [
  listRoute,
  changeRoute('share', 'Lets the agent use a fact or file in runs for everybody'),
  changeRoute('unshare', 'Makes a shared fact or file private again; what was quoted stays'),
  changeRoute('delete', 'Deletes a fact or file'),
]

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
  ...pageFields,
})

function presentKnowledge(
  { facts, tasks, sessions, files }: AgentKnowledge,
  { view, labels }: SeenAgent,
): Omit<z.input<typeof knowledgeAnswer>, keyof typeof pageFields> {
  const presentOwner = (owner: string | null) =>
    owner === null ? null : owner === view.self ? 'you' : (labels.get(owner) ?? '')
  const presentKnown = (each: AgentKnowledge['tasks'][number]) => ({
    id: each.id,
    text: each.text,
    created_at: presentTime(each.createdAt),
    private_to: presentOwner(each.privateTo),
    is_untrusted: each.isUntrusted,
  })
  return {
    facts: facts.map((fact) => ({
      ...presentKnown(fact),
      source: fact.source,
      shared_at: presentTime(fact.sharedAt),
    })),
    tasks: tasks.map(presentKnown),
    sessions: sessions.map(({ messageCount, privateTo, hasShared: _, ...session }) => ({
      ...presentSessionFacts(session),
      message_count: messageCount,
      is_private: privateTo.length > 0,
    })),
    files: files.map(({ path, bytes, updatedAt, privateTo, sharedAt, isUntrusted }) => ({
      path,
      bytes,
      updated_at: presentTime(updatedAt),
      private_to: presentOwner(privateTo),
      shared_at: presentTime(sharedAt),
      is_untrusted: isUntrusted,
    })),
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

/** What people read and correct of what an agent knows. */
export const knowledgeRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/knowledge',
    summary:
      'Lists what an agent knows that you may see: facts, open tasks, sessions and files; sessions of threads for admins and the owner',
    access: 'own',
    query: memoryPageQuery,
    answer: knowledgeAnswer,
    handle: async ({ context, list, param, query, read, reader }) => {
      const { viewer, answers } = await read(viewStatements(param('name'), reader))
      if (!viewer) throw knowledgeErrors.peopleOnly()
      const seen = await toSeenAgent(context, viewer, answers)
      const page = readMemoryPage(list, query)
      const found = await context.agents.knowledge.list(seen.id, seen.view, page)
      return { ...presentKnowledge(found, seen), ...toMemoryPageFields(list, page, found) }
    },
  }),
  route({
    method: 'patch',
    path: '/agents/:name/knowledge/facts/:id',
    summary: 'Corrects a fact: one for everybody as an admin or the owner, or one private to you',
    access: 'write',
    body: factText,
    answer: z.object({}),
    handle: async (call) => {
      const { text } = call.body
      await change(call, { change: 'correct_fact', id: readId(call, 'fact'), text })
      return {}
    },
  }),
  route({
    method: 'delete',
    path: '/agents/:name/knowledge/facts/:id',
    summary: 'Deletes a fact: one for everybody as an admin or the owner, or one private to you',
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await change(call, { change: 'delete_fact', id: readId(call, 'fact') })
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'post',
    path: '/agents/:name/knowledge/tasks/:id/close',
    summary:
      'Closes an open task: one for everybody as an admin or the owner, or one private to you',
    access: 'write',
    answer: z.object({}),
    handle: async (call) => {
      await change(call, { change: 'close_task', id: readId(call, 'task') })
      return {}
    },
  }),
  route({
    method: 'delete',
    path: '/agents/:name/knowledge/files',
    summary: 'Deletes a file: one for everybody as an admin or the owner, or one private to you',
    access: 'write',
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
