// A coding agent for tests: speaks the Agent Client Protocol over its standard streams, and does what the words of the
// prompt say, or those after "Do:" where the prompt has more. It stands where the adapter of Claude Code stands.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const memory = join(process.env.HOME, 'sessions.json')
const sessions = fs.existsSync(memory) ? JSON.parse(fs.readFileSync(memory, 'utf8')) : []
const waiting = new Map()
let mcp
let ids = 100

const update = (sessionUpdate, fields) =>
  send({
    method: 'session/update',
    params: { sessionId: sessions.at(-1), update: { sessionUpdate, ...fields } },
  })
const say = (text, messageId) =>
  update('agent_message_chunk', { content: { type: 'text', text }, messageId })
const ask = (method, params) =>
  new Promise((resolve) => {
    ids++
    waiting.set(ids, resolve)
    send({ id: ids, method, params })
  })
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Whether it asks again when nobody answers, as real programs do. */
let isPatient = false
const persist = async (act) => {
  for (;;) {
    try {
      const response = await act()
      if (!isPatient || response.status < 500) return response
    } catch (error) {
      if (!isPatient) throw error
    }
    await wait(200)
  }
}

const callTools = (method, params) => persist(() => sendToTools(method, params))
const sendToTools = (method, params) =>
  fetch(mcp.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...Object.fromEntries(mcp.headers.map(({ name, value }) => [name, value])),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })

/** Calls a tool as programs show it. Returns how that ended. */
async function useTool(toolCallId, name, args) {
  update('tool_call', { toolCallId, title: `mcp__rookery__${name}`, status: 'pending' })
  const response = await callTools('tools/call', { name, arguments: args })
  const status = /"isError":true/.test(await response.text()) ? 'failed' : 'completed'
  update('tool_call_update', { toolCallId, status })
  return status
}

const messages = [{ role: 'user', content: 'What is to be done?' }]
const askModel = (
  headers = { authorization: `Bearer ${process.env.ANTHROPIC_AUTH_TOKEN}` },
  path = '/v1/messages',
) =>
  fetch(`${process.env.ANTHROPIC_BASE_URL}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'test', max_tokens: 1_000, stream: true, messages }),
  })

const callModel = async (headers, path) => {
  const { status } = await persist(async () => {
    const response = await askModel(headers, path)
    await response.text()
    return response
  })
  return status
}

const acts = {
  async good() {
    say('Let me see.', 'm1')
    await useTool('t1', 'get_ticket', { id: '7' })
    update('plan', { entries: [{ content: 'Answer', priority: 'high', status: 'in_progress' }] })
    say('The print', 'm2')
    say('The printer is ', 'm3')
    say('on fire.', 'm3')
  },
  async search() {
    await useTool('s1', 'hub_search', { query: 'printer' })
    say('The printer is on fire.', 'm4')
  },
  /** Makes a write that requires approval, and says what came of it. */
  async publish() {
    const post = { community: 'general', title: 'Nine herons' }
    const status = await useTool('p1', 'hub_create_post', post)
    say(status === 'failed' ? 'Not published.' : 'Published.', 'm5')
  },
  async hang() {
    const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
    say(`child ${child.pid}`, 'm1')
    await new Promise(() => undefined)
  },
  /** Asks the model and hangs, but only the first time that any run of this program does. */
  async hangonce() {
    const marker = join(import.meta.dirname, 'has-hung')
    if (fs.existsSync(marker)) return
    fs.writeFileSync(marker, '')
    callModel().catch(() => undefined)
    await acts.hang()
  },
  twice: () => callModel(),
  die() {
    console.error('the fake program is broken')
    process.exit(3)
  },
  async flood() {
    for (;;) {
      say('word '.repeat(200), 'm1')
      await wait(5)
    }
  },
  async endless() {
    const statuses = []
    // The hub reads these alike.
    const paths = ['/v1/messages', '/v1/messages/', '//v1//messages', '/v1/messages//?a=b']
    for (let each = 0; each < 20; each++) {
      statuses.push(await callModel(undefined, paths[each % paths.length]))
    }
    say(statuses.join(' '), 'm1')
  },
  async slowly() {
    for (let each = 1; each <= 30; each++) {
      update('tool_call', { toolCallId: `t${each}`, title: `step ${each}`, status: 'completed' })
      await wait(50)
      // Goes no further than a test wants it to.
      while (fs.existsSync(join(import.meta.dirname, `hold-${each}`))) await wait(20)
    }
    say('Done slowly.', 'm9')
  },
  /** Reads a part of an answer, and closes the connection. */
  async leaves() {
    const reader = (await askModel()).body.getReader()
    await reader.read()
    await reader.cancel()
    say('Read enough.', 'm1')
  },
  /** Goes on after an answer that broke. */
  async breaks() {
    await callModel().catch(() => undefined)
    say('Nothing is wrong.', 'm1')
  },
  async permissions() {
    const answers = []
    for (const toolCall of [
      { toolCallId: 'a', title: 'mcp__rookery__get_ticket', kind: 'other' },
      { toolCallId: 'b', title: 'rm -rf /', kind: 'execute' },
      { toolCallId: 'c', title: 'edit a file', kind: 'edit' },
    ]) {
      const options = [
        { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
        { optionId: 'no', name: 'No', kind: 'reject_once' },
      ]
      const params = { sessionId: sessions.at(-1), toolCall, options }
      const { outcome } = await ask('session/request_permission', params)
      answers.push(outcome.optionId)
    }
    say(answers.join(' '), 'm1')
  },
  async strangers() {
    const statuses = [await callModel({}), await callModel({ 'x-api-key': 'wrong' })]
    const key = { authorization: `Bearer ${process.env.ANTHROPIC_AUTH_TOKEN}` }
    const other = await fetch(`${process.env.ANTHROPIC_BASE_URL}/api/v1/posts`, { headers: key })
    say([...statuses, other.status].join(' '), 'm1')
  },
  write() {
    fs.writeFileSync('fixed.txt', 'fixed\n')
    say('Fixed.', 'm1')
  },
  append() {
    fs.appendFileSync('fixed.txt', 'more\n')
    say('Added more.', 'm1')
  },
  /** Says which of the objects after it git finds in the checkout. */
  async objects(words) {
    const ids = words.slice(words.indexOf('objects') + 1)
    const found = ids.filter(
      (id) => spawnSync('git', ['cat-file', '-e', id], { stdio: 'ignore' }).status === 0,
    )
    say(['found', ...found].join(' '), 'm1')
  },
  /** Puts links to the folder after it where the runner writes. */
  async links(words) {
    const target = words[words.indexOf('links') + 1]
    const place = join(process.cwd(), '..')
    const config = join(process.env.HOME, '.config')
    const linked = []
    for (const path of [config, join(place, 'tmp'), join(place, 'work')]) {
      try {
        fs.rmSync(path, { recursive: true, force: true })
        fs.symlinkSync(target, path)
        linked.push(basename(path))
      } catch {
        // The sandbox holds on to it.
      }
    }
    say(`Linked ${linked.join(' ')}`, 'm1')
  },
  /** Says what files of its home folder have run, and leaves some for a shell that starts later. */
  startup() {
    const ran = join(process.env.HOME, 'ran')
    say(fs.existsSync(ran) ? fs.readFileSync(ran, 'utf8') : 'Nothing has run.', 'm1')
    for (const name of ['.bashrc', '.bash_profile', '.profile', '.zshenv', '.npmrc']) {
      const script = `echo ${name} $(grep Seccomp: /proc/self/status) >> ${ran}\n`
      fs.writeFileSync(join(process.env.HOME, name), script)
    }
  },
  /** Does what a file beside it does, whose name follows. */
  async beside(words) {
    const { act } = await import(join(import.meta.dirname, `${words.at(-1)}.mjs`))
    say((await act({ callTools, useTool })).join('\n'), 'm6')
  },
  /** Leaves a binary file, and more text than a patch or the memory of a runner holds. */
  flooded() {
    fs.writeFileSync('a.bin', Buffer.from([0, 1, 2, 0]))
    const lines = Array.from({ length: 1_100_000 }, (_, each) => `a line with é ${each}\n`)
    fs.writeFileSync('lines.txt', lines.join(''))
    say('Flooded.', 'm1')
  },
  /** Tries what must not work. The words after it: a file outside, one with a secret, and addresses. */
  async hostile(words) {
    const [, outside, secret, ...addresses] = words
    const run = `#!/bin/sh\necho hostile > ${outside}\n`
    fs.mkdirSync('.git/hooks', { recursive: true })
    for (const hook of ['pre-commit', 'post-commit', 'post-checkout', 'reference-transaction']) {
      fs.writeFileSync(`.git/hooks/${hook}`, run, { mode: 0o755 })
    }
    fs.writeFileSync('run.sh', run, { mode: 0o755 })
    const lines = ['[core]', `fsmonitor = ${process.cwd()}/run.sh`, '[uploadpack]']
    fs.appendFileSync(
      '.git/config',
      [...lines, `packObjectsHook = ${process.cwd()}/run.sh`, ''].join('\n'),
    )
    const tries = {
      outside: () => fs.writeFileSync(outside, 'hostile'),
      secret: () => fs.readFileSync(secret),
      home: () => fs.readdirSync(homedir() === process.env.HOME ? '/root' : homedir()).at(0).length,
      'the runner': () => {
        const names = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
        const runners = names.filter((name) =>
          /vitest/.test(fs.readFileSync(`/proc/${name}/cmdline`)),
        )
        return runners.at(0).length
      },
      ...Object.fromEntries(addresses.map((url) => [url, () => fetch(url)])),
      metadata: () =>
        fetch('http://169.254.169.254/latest/', { signal: AbortSignal.timeout(2000) }),
    }
    const said = []
    for (const [name, attempt] of Object.entries(tries)) {
      try {
        const answer = await attempt()
        const isBlocked =
          answer instanceof Response && answer.status === 403 && /block/i.test(await answer.text())
        said.push(`${isBlocked ? 'tried' : 'reached'} ${name}`)
      } catch (error) {
        said.push(`tried ${name}: ${error.cause?.code ?? error.code ?? error.message}`)
      }
    }
    say(said.join('\n'), 'm1')
  },
}

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
  async 'session/new'(params) {
    mcp = params.mcpServers[0]
    sessions.push(`session-${process.pid}`)
    fs.writeFileSync(memory, JSON.stringify(sessions))
    return { sessionId: sessions.at(-1) }
  },
  async 'session/load'(params) {
    mcp = params.mcpServers[0]
    if (!sessions.includes(params.sessionId)) throw new Error('no such session')
    say('what was said before', 'm0')
    return {}
  },
  async 'session/prompt'(params) {
    const { text } = params.prompt[0]
    const words = (text.match(/(?<=Do: )[a-z ]+(?=\.)/g)?.at(-1) ?? text).split(' ')
    isPatient = words.includes('patient')
    if (!words.includes('toolless')) await callTools('tools/list', {})
    if (!words.includes('modelless')) await callModel()
    for (const word of words) await acts[word]?.(words)
    if (words.includes('fails')) throw new Error('fake failure')
    return { stopReason: words.includes('refuses') ? 'refusal' : 'end_turn' }
  },
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined) return waiting.get(message.id)?.(message.result)
  if (message.id === undefined) return
  try {
    send({ id: message.id, result: await methods[message.method](message.params) })
  } catch (error) {
    send({ id: message.id, error: { code: -32000, message: error.message } })
  }
})
// It ends for no reason but a signal.
setInterval(() => undefined, 1000)
