// `npm run coding-agents:story [-- <program> ...] [--stay]`: each installed program gets a task in a thread of a real
// hub, uses a tool of it, changes a repository, answers, and goes on after a further comment. Only the model is scripted.
// `--stay` leaves the hub running, so that its pages can be looked at.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { findPrograms, type InstalledProgram } from '../../../runner/programs.ts'
import type { ProgramType } from '../../../src/shared/runner-protocol.ts'
import type { FakeAnswer } from '../../support/fake-model-server.ts'
import { findSandboxProblem } from '../../support/start-runner-process.ts'
import { type CodingHub, startCodingHub, until } from './coding-hub.ts'
import { startForge } from './forge.ts'

type Call = NonNullable<FakeAnswer['calls']>[number]

/** How a program is spoken to by its model. */
interface Script {
  /** Provider and model; each program has a provider of its own, because scripts belong to addresses. */
  brain: [string, string]
  search: Call
  run(command: string): Call
  /** Model answers before the further comment, as the fake provider counts them. */
  turns: number
}

const query = { query: 'printer' }
const scripts: Partial<Record<ProgramType, Script>> = {
  'claude-code': {
    brain: ['anthropic', 'claude-sonnet-5-5'],
    search: { name: 'mcp__rookery__hub_search', arguments: query },
    run: (command) => ({ name: 'Bash', arguments: { command, description: 'Work' } }),
    turns: 3,
  },
  codex: {
    brain: ['openai', 'gpt-6-sol'],
    search: { name: 'hub_search', namespace: 'mcp__rookery', arguments: query },
    run: (cmd) => ({ name: 'exec_command', arguments: { cmd } }),
    turns: 2,
  },
  opencode: {
    brain: ['openai-compatible', 'glm-4.7'],
    search: { name: 'rookery_hub_search', arguments: query },
    run: (command) => ({ name: 'bash', arguments: { command, description: 'Work' } }),
    turns: 3,
  },
  goose: {
    brain: ['workers-ai', '@cf/zai-org/glm-4.7-flash'],
    search: { name: 'rookery__hub_search', arguments: query },
    run: (command) => ({ name: 'shell', arguments: { command } }),
    turns: 3,
  },
}

const runTimeoutMs = 600_000
const [firstText, secondText] = ['I put a line into the readme.', 'I added another line.']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stay: { type: 'boolean' } },
})
process.exitCode = await main()

async function main(): Promise<number> {
  const sandboxProblem = findSandboxProblem()
  const programs = findPrograms().filter(
    ({ type }) => scripts[type] && (positionals.length === 0 || positionals.includes(type)),
  )
  if (sandboxProblem !== null || programs.length === 0) {
    console.error(sandboxProblem ?? 'No program is installed: rookery runner install claude-code')
    return 1
  }
  const hub = await startCodingHub(toEnv)
  const forge = await startForge(hub)
  const git: Git = (...args) =>
    execFileSync('git', ['-C', forge.bare, ...args], { encoding: 'utf8' }).trim()
  try {
    hub.startRunner('cellar', { hasSandbox: true, programs })
    await hub.waitForRunner('cellar')
    const played = await Promise.all(programs.map((program) => tell(hub, git, program)))
    const audit = await hub.api<{ is_consistent: boolean }>('GET', '/budgets/audit')
    if (!audit.is_consistent) console.log('The audit of the budgets does not agree.')
    if (values.stay) await stay(hub)
    return audit.is_consistent && played.every(Boolean) ? 0 : 1
  } finally {
    forge.close()
    await hub.close()
  }
}

/** Gives each provider an address whose script is that of its program. */
function toEnv(url: string, key: string): Record<string, string> {
  const of = (type: ProgramType) => `${url}/s/${type}/v1`
  return {
    ANTHROPIC_BASE_URL: of('claude-code'),
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: of('codex'),
    OPENAI_COMPATIBLE_API_KEY: key,
    OPENAI_COMPATIBLE_BASE_URL: of('opencode'),
    WORKERS_AI_API_KEY: key,
    WORKERS_AI_BASE_URL: of('goose'),
    // A model of an own server has the price that an admin sets.
    ROOKERY_PRICES: JSON.stringify({
      'openai-compatible/glm-4.7': { prices: { input: 1, output: 2 } },
    }),
  }
}

async function stay(hub: CodingHub): Promise<void> {
  console.log(`${hub.url()} with the key ${hub.adminKey()} until Ctrl-C`)
  console.log(`The provider's log: ${hub.provider.url}/__log`)
  const timer = setInterval(() => undefined, 1_000)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  clearInterval(timer)
}

interface RunEvent {
  type: string
  name?: string
  is_error?: boolean
}

type Git = (...args: string[]) => string

/** Plays the whole story with one program, and says what is wrong. Returns whether nothing was. */
async function tell(hub: CodingHub, git: Git, program: InstalledProgram): Promise<boolean> {
  const startedAt = Date.now()
  const problems = await play(hub, git, program).catch((error: Error) => [error.message])
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
  console.log(
    [`${program.type} ${program.version}, ${seconds} s`, ...(problems.length ? problems : ['ok'])]
      .join(': ')
      .trim(),
  )
  return problems.length === 0
}

async function play(hub: CodingHub, git: Git, { type }: InstalledProgram): Promise<string[]> {
  const script = scripts[type]
  if (!script) return ['there is no script for it']
  const agent = `coder-${type}`
  const grants = ['hub:read', 'git:forge:read', 'git:forge:write:acme/tools']
  const lines = [
    'workspace: { repository: "forge:acme/tools" }',
    `capabilities: { builtin: shell, grants: [${grants.join(', ')}] }`,
  ]
  await hub.pushAgent(agent, lines, type, script.brain)
  await hub.api('PUT', `/agents/${agent}/grants`, { allowed: grants })
  const toCall = (text: string) => script.run(`echo ${text} by ${type} >> readme.md`)
  hub.provider.setScript(type, {
    answers: [
      { text: 'Let me see.', calls: [script.search] },
      { text: 'Now the readme.', calls: [toCall('fixed')] },
      { text: firstText },
    ],
    pick: 'turn',
  })
  const post = { community: 'general', title: `A task for ${type}` }
  const content = `@${agent} Please put a line into the readme.`
  const { post: asked } = await hub.api<{ post: { id: string } }>('POST', '/posts', {
    ...post,
    content,
  })
  const problems = await checkRun(hub, asked.id, 0, firstText)
  if (problems.length > 0) return problems
  problems.push(...checkBranch(git, type, [`fixed by ${type}`]))

  const lost: FakeAnswer = { text: 'I remember nothing of it.' }
  hub.provider.setScript(type, {
    answers: [
      ...Array.from({ length: script.turns }, () => lost),
      { text: 'Again.', calls: [toCall('again')] },
      { text: secondText },
    ],
    pick: 'turn',
  })
  await hub.api('POST', `/posts/${asked.id}/comments`, {
    content: `@${agent} Another one, please.`,
  })
  problems.push(...(await checkRun(hub, asked.id, 1, secondText)))
  return [...problems, ...checkBranch(git, type, [`fixed by ${type}`, `again by ${type}`])]
}

/** Waits for a run of the thread, and returns what is wrong with it. */
async function checkRun(hub: CodingHub, postId: string, at: number, text: string) {
  const run = await until(
    `run ${at + 1}`,
    async () => {
      const runs = await hub.findRuns(postId)
      return runs[at]?.state === 'done' ? runs[at] : null
    },
    runTimeoutMs,
  )
  const problems: string[] = []
  const { events } = await hub.api<{ events: RunEvent[] }>('GET', `/activations/${run.id}/events`)
  if (run.outcome !== 'completed') {
    const facts = await hub.api('GET', `/activations/${run.id}`)
    const said = [facts, events].map((each) => JSON.stringify(each).slice(-3_000))
    problems.push([`run ${at + 1} ended as ${run.outcome}`, ...said, hub.readLogs()].join('\n'))
  }
  const replies = await hub.readReplies(postId)
  const answer = replies.find(({ content }) => content.includes(text))?.content
  if (!answer) problems.push(`the replies are ${JSON.stringify(replies)}`)
  if (answer && !answer.includes('rookery/')) problems.push(`no branch is named: ${answer}`)
  const sum = (await hub.readCharges(run.id)).reduce((total, { cost }) => total + cost, 0)
  if (run.cost <= 0 || sum !== run.cost) problems.push(`it costs ${run.cost}, charged are ${sum}`)
  const isSearched = events.some(
    (event) => event.type === 'tool-result' && event.name === 'hub_search' && !event.is_error,
  )
  if (at === 0 && !isSearched) problems.push('hub_search was not called')
  const page = await hub.readPage(`/activations/${run.id}`)
  if (at > 0 && !page.includes('with its earlier session')) {
    problems.push('it did not go on in its session')
  }
  return problems
}

/** Returns what is wrong with the branch that a program has pushed. */
function checkBranch(git: Git, type: ProgramType, lines: string[]): string[] {
  const branches = git('branch', '--list', 'rookery/*', '--format=%(refname:short)').split('\n')
  const texts = branches.map((branch) => git('show', `${branch}:readme.md`))
  const found = texts.filter((text) => text.includes(`by ${type}`))
  const wanted = ['hello', ...lines].join('\n')
  return found.length === 1 && found[0]?.trim() === wanted
    ? []
    : [`the branches have ${JSON.stringify(found)}`]
}
