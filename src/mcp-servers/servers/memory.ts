import * as z from 'zod'
import { limits, memoryLimits, planLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'
import { defineTool, type ToolServer } from '../tool/define-tool'
import { NotRecordedError } from '../tool/not-recorded'

const idInput = z.int().min(1).describe('The number that your memory shows for it')

/** A text in one line, since facts and tasks are shown as lists. */
const lineInput = (charsMax: number) =>
  z
    .string()
    .transform((text) => text.replace(/\s+/g, ' ').trim())
    .pipe(z.string().min(1).max(charsMax))

const listFacts = defineTool({
  name: 'list_facts',
  description:
    'List your memory: your facts, best match for the query first, and your open tasks. Your prompt ' +
    'may not include all of your facts. What is private is for the requester only: do not repeat it in ' +
    'a thread.',
  input: z.strictObject({
    query: z
      .string()
      .trim()
      .max(limits.search.queryCharsMax)
      .optional()
      .describe('Words to match; without them the newest facts come first'),
    limit: z.int().min(1).max(100).default(20).describe('How many facts at most'),
  }),
  tier: 'read',
  grant: 'memory:read',
  isIdempotent: true,
  asOf: () => [],
  doing: 'reading its notes',
  async run({ input, actor, memory, privacy }) {
    const { query, limit } = input
    const { reader } = privacy
    const { at } = actor
    const asOf = at === undefined ? {} : { at }
    const asked = { words: query || null, limit, reader, ...asOf }
    const found = await memory.listFacts(actor.accountId, asked)
    if (!found) throw new NotRecordedError()
    return {
      facts: found.facts.map(({ createdAt, isPrivate, isUntrusted, ...fact }) => ({
        ...fact,
        noted: toDay(createdAt),
        ...(isPrivate && { private: true }),
        ...(isUntrusted && { from_outside_or_guest: true }),
      })),
      fact_count: found.factCount,
      open_tasks: found.tasks.map(({ createdAt, isPrivate, ...task }) => ({
        ...task,
        since: toDay(createdAt),
        ...(isPrivate && { private: true }),
      })),
    }
  },
})

const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

const rememberFact = defineTool({
  name: 'remember_fact',
  description:
    'Note a fact that is useful in later tasks, in any thread: what a person prefers, what was ' +
    'decided, where something is. One sentence that is clear on its own, with names and dates. Give ' +
    'the person or place it comes from as source. Not for secrets, or for what only matters in this task. What ' +
    'you note for a direct message or a task given to you stays with its requester.',
  input: z.strictObject({
    text: lineInput(memoryLimits.factCharsMax),
    source: lineInput(memoryLimits.sourceCharsMax)
      .optional()
      .describe('The person who said it, or the url of the post'),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'noting something',
  async run({ input, actor, memory, privacy, hasReadUntrusted: isUntrusted }) {
    const { text, source = '' } = input
    const { privateTo } = privacy
    const noted = { text, source, privateTo, isUntrusted }
    const fact = await memory.rememberFact(actor.accountId, noted)
    if (fact) return { id: fact.id, text }
    throw memoryErrors.tooManyFacts()
  },
})

const forgetFact = defineTool({
  name: 'forget_fact',
  description:
    'Delete a fact permanently, because it is wrong or out of date, or because a person asked you to. ' +
    'To correct a fact, delete it and note the right one.',
  input: z.strictObject({ id: idInput }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'deleting a note',
  async run({ input, actor, memory, privacy }) {
    const { id } = input
    const { reader } = privacy
    if (await memory.forgetFact(actor.accountId, { id, reader })) return { forgotten: id }
    throw memoryErrors.unknownFact()
  },
})

const step = z.strictObject({
  title: z.string().trim().min(1).max(planLimits.titleCharsMax),
  status: z.enum(['pending', 'running', 'completed', 'failed']).optional(),
})

/** Updates the plan. The plan is read from the journal, which contains the arguments of this call. */
const updatePlan = defineTool({
  name: 'update_plan',
  description:
    'Set your plan, which people can follow live and which helps you stay on track: a goal and the ' +
    'steps to it. Call it at the start of a task that takes several steps, and again when a step is ' +
    'done or the plan changes. The steps you give replace the previous ones; a step with the same ' +
    'title keeps its status.',
  input: z
    .strictObject({
      goal: z.string().trim().min(1).max(planLimits.goalCharsMax).optional(),
      steps: z.array(step).max(planLimits.stepsMax).optional(),
    })
    .refine(
      ({ goal, steps }) => goal !== undefined || steps !== undefined,
      'Must have a goal, steps or both',
    ),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'planning',
  run: async ({ input }) => input,
})

const addTask = defineTool({
  name: 'add_task',
  description:
    'Note something that you have promised or must come back to after this task. Your open tasks are ' +
    'shown to you in every task. Adding one does not start any work. What you add for a direct message or a task given to you ' +
    'stays with its requester.',
  input: z.strictObject({ text: lineInput(memoryLimits.taskCharsMax) }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'noting a task',
  async run({ input, actor, memory, privacy, hasReadUntrusted: isUntrusted }) {
    const { text } = input
    const { accountId, idempotencyKey: key } = actor
    const { privateTo } = privacy
    const task = await memory.addTask(accountId, { text, key, privateTo, isUntrusted })
    if (task) return { id: task.id, text }
    throw memoryErrors.tooManyTasks()
  },
})

const completeTask = defineTool({
  name: 'complete_task',
  description:
    'Mark one of your open tasks as done, or as no longer needed. Give the result in the note.',
  input: z.strictObject({
    id: idInput,
    note: lineInput(memoryLimits.taskCharsMax).optional(),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'completing a task',
  async run({ input, actor, memory, privacy }) {
    const { id, note = '' } = input
    const { reader } = privacy
    const task = await memory.completeTask(actor.accountId, { id, note, reader })
    if (task) return { completed: id, text: task.text }
    throw memoryErrors.unknownTask()
  },
})

/** Facts, open tasks and the plan of the calling agent. */
export const memoryServer: ToolServer = {
  name: 'memory',
  description:
    'Your own memory: facts and open tasks that are kept between tasks, and the plan of this task.',
  isOwnStore: true,
  isForHosted: true,
  tools: [rememberFact, forgetFact, listFacts, updatePlan, addTask, completeTask],
}

/** Errors of an agent's memory, as models read them. */
const memoryErrors = {
  tooManyTasks: () =>
    new AppError(
      'CONFLICT',
      `You have ${memoryLimits.openTasksMax} open tasks, which is the limit.`,
      { hint: 'Complete one with memory_complete_task, then try again.' },
    ),
  unknownTask: () =>
    notFound('task', 'memory_list_facts lists your open tasks with their numbers.'),
  tooManyFacts: () =>
    new AppError('CONFLICT', `You have ${memoryLimits.factsMax} facts, which is the limit.`, {
      hint: 'Delete one that is out of date with memory_forget_fact, then try again.',
    }),
  unknownFact: () => notFound('fact', 'memory_list_facts lists your facts with their numbers.'),
}
