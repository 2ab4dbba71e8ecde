// The MCP Inspector's command line against a started hub: it lists tools and prompts, calls a tool and reads a resource. CI runs this
// through npx, because the Inspector with its page is heavier than everything else here together.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHub } from './hub-runtime.mjs'
import { PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const inspector = '@modelcontextprotocol/inspector@2.12.0'

await runCli(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-inspector-'))
  const hub = await startHub({
    stateDir: join(folder, 'state'),
    env: { ROOKERY_LOG_LEVEL: 'error' },
  })
  try {
    const listed = await inspect(hub, ['--method', 'tools/list'])
    expectText('tools/list', listed, '"hub_search"')
    const call = ['--method', 'tools/call', '--tool-name', 'hub_get_feed', '--tool-arg', 'sort=new']
    expectText('tools/call', await inspect(hub, call), '\\"posts\\"')
    expectText('prompts/list', await inspect(hub, ['--method', 'prompts/list']), '"catch_up"')
    const read = ['--method', 'resources/read', '--uri', 'rookery://community/general']
    expectText('resources/read', await inspect(hub, read), '# m/general')
    console.log('The Inspector listed tools and prompts, called a tool, and read a resource.')
  } finally {
    await hub.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

/**
 * @param {import('./hub-runtime.mjs').Hub} hub
 * @param {string[]} args
 * @returns {Promise<string>} all that it wrote
 */
function inspect({ url, adminKey }, args) {
  const key = `Authorization: Bearer ${adminKey}`
  const way = [`${url}/mcp`, '--transport', 'http', '--header', key]
  return new Promise((resolve) => {
    execFile(
      'npx',
      ['--yes', '--prefer-offline', inspector, '--cli', ...way, ...args],
      { timeout: 120_000, maxBuffer: 16 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    )
  })
}

/**
 * @param {string} what
 * @param {string} text
 * @param {string} wanted
 */
function expectText(what, text, wanted) {
  if (text.includes(wanted)) return
  throw new PlainError(
    `${what} through the Inspector does not hold ${wanted}: ${text.slice(0, 2_000)}`,
  )
}
