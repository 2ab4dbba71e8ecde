import * as z from 'zod'
import { countAnswer, deletedAnswer, presenterOf, timeAnswer } from '../http/answers'
import { decodeUtf8 } from '../http/bodies'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { readCaller, toCaller } from '../replays/callers'
import { personAnswer } from '../rules/people'
import {
  addCase,
  type CaseRow,
  createSet,
  deleteCase,
  deleteSet,
  editCase,
  exportSet,
  type ImportedLine,
  importCases,
  listSets,
  readSet,
  renameSet,
  type SetRow,
} from './set-actions'
import { caseChange, caseCheck, caseInput, setInput } from './set-inputs'

const setAnswer = z
  .object({
    id: z.string(),
    agent: personAnswer.describe('The agent whose runs it has.'),
    name: z.string(),
    case_count: countAnswer,
    is_gate: z
      .boolean()
      .describe('Whether changes of the agent have to pass a trial on it before they are active.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'CaseSet' })

const caseAnswer = z
  .object({
    id: z.string(),
    activation_id: z.string(),
    is_visible: z
      .boolean()
      .describe(
        'Whether you see all of the run; without it question, answer, checks and note are empty.',
      ),
    question: z.string().describe('The beginning of what the run was asked.'),
    answer: z.string().describe('The beginning of what it answered.'),
    checks: z.array(caseCheck).describe('What the answer must do.'),
    note: z.string().describe('What would have been right.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Case' })

/** A line of an export. */
const exportAnswer = z.object({
  activation_id: z.string(),
  checks: z.array(caseCheck),
  note: z.string(),
})

const importAnswer = z.object({
  added: countAnswer,
  kept: countAnswer,
  refused: countAnswer,
  lines: z.array(
    z.object({
      line: countAnswer.describe('From 1.'),
      result: z.enum(['added', 'kept', 'refused']).describe('kept: the set has a case of the run.'),
      case_id: z.string().nullable(),
      message: z.string().describe('Why it was refused; empty otherwise.'),
    }),
  ),
})

const presentSet = presenterOf(setAnswer).from<SetRow>({ case_count: ({ cases }) => cases })

const presentCase = presenterOf(caseAnswer).from<CaseRow>({})

const presentLine = presenterOf(importAnswer.shape.lines.element).from<ImportedLine>({})

function presentImport(lines: ImportedLine[]): z.input<typeof importAnswer> {
  const count = (wanted: ImportedLine['result']) =>
    lines.filter(({ result }) => result === wanted).length
  return {
    added: count('added'),
    kept: count('kept'),
    refused: count('refused'),
    lines: lines.map(presentLine),
  }
}

const route = routesOf('agents')

const agentSetRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/sets',
    summary:
      'Lists the sets of runs on which changes of an agent are tried, for people who may edit it',
    access: 'own',
    answer: z.object({ sets: z.array(setAnswer) }),
    handle: async (call) => {
      const rows = await listSets(call.context, await readCaller(call), call.param('name'))
      return { sets: rows.map(presentSet) }
    },
  }),
  route({
    method: 'post',
    path: '/agents/:name/sets',
    summary: 'Creates a set of runs on which changes of an agent are tried',
    access: 'write',
    status: 201,
    body: setInput,
    answer: z.object({ set: setAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const name = call.param('name')
      const done = await createSet(context, call.actor(), toCaller(call), name, body)
      return presentIdempotent(call, done, (set) => ({ set: presentSet(set) }))
    },
  }),
]

const ownSetRoutes: Route[] = [
  route({
    method: 'get',
    path: '/sets/:id',
    summary: 'Returns a set with its cases, the newest first',
    access: 'own',
    answer: z.object({ set: setAnswer, cases: z.array(caseAnswer) }),
    handle: async (call) => {
      const set = await readSet(call.context, await readCaller(call), call.param('id'))
      return { set: presentSet(set), cases: set.rows.map(presentCase) }
    },
  }),
  route({
    method: 'patch',
    path: '/sets/:id',
    summary: 'Renames a set, but for one on which changes of its agent are tried',
    access: 'write',
    body: setInput,
    answer: z.object({ set: setAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const set = await renameSet(context, call.actor(), toCaller(call), call.param('id'), body)
      return { set: presentSet(set) }
    },
  }),
  route({
    method: 'delete',
    path: '/sets/:id',
    summary: 'Deletes a set with its cases and trials. Its runs stay',
    access: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      const id = call.param('id')
      await deleteSet(call.context, call.actor(), toCaller(call), id)
      return { deleted: id }
    },
  }),
  route({
    method: 'get',
    path: '/sets/:id/export',
    summary: 'Returns a set as JSON lines, a case each, of the runs of which you see all',
    access: 'own',
    answer: exportAnswer,
    isBare: true,
    handle: async (call) => {
      const set = await exportSet(call.context, await readCaller(call), call.param('id'))
      call.c.header('content-type', 'application/x-ndjson; charset=utf-8')
      return call.c.body(set.lines)
    },
  }),
  route({
    method: 'post',
    path: '/sets/:id/import',
    summary:
      'Adds the runs of JSON lines, as an export has them, to a set, and returns what came of each line. Sent again, it changes nothing',
    access: 'write',
    takesDelivery: true,
    answer: importAnswer,
    handle: async (call) => {
      const text = decodeUtf8(new Uint8Array(await call.c.req.arrayBuffer()))
      const id = call.param('id')
      return presentImport(await importCases(call.context, call.actor(), toCaller(call), id, text))
    },
  }),
]

const caseRoutes: Route[] = [
  route({
    method: 'get',
    path: '/sets/:id/cases',
    summary: 'Lists the cases of a set, the newest first',
    access: 'own',
    answer: z.object({ cases: z.array(caseAnswer) }),
    handle: async (call) => {
      const { rows } = await readSet(call.context, await readCaller(call), call.param('id'))
      return { cases: rows.map(presentCase) }
    },
  }),
  route({
    method: 'post',
    path: '/sets/:id/cases',
    summary:
      'Adds a run to a set, with what its answer must do. A run that the set has stays as it is',
    access: 'write',
    status: 201,
    body: caseInput,
    answer: z.object({ case: caseAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const done = await addCase(context, call.actor(), toCaller(call), call.param('id'), body)
      return presentIdempotent(call, done, (row) => ({ case: presentCase(row) }))
    },
  }),
  route({
    method: 'patch',
    path: '/cases/:id',
    summary: 'Changes the checks or the note of a case. Trials that have begun keep theirs',
    access: 'write',
    body: caseChange,
    answer: z.object({ case: caseAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const row = await editCase(context, call.actor(), toCaller(call), call.param('id'), body)
      return { case: presentCase(row) }
    },
  }),
  route({
    method: 'delete',
    path: '/cases/:id',
    summary: 'Removes a case from its set. The run and trials stay',
    access: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      const id = call.param('id')
      await deleteCase(call.context, call.actor(), toCaller(call), id)
      return { deleted: id }
    },
  }),
]

export const setRoutes: Route[] = [...agentSetRoutes, ...ownSetRoutes, ...caseRoutes]
