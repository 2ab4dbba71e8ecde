// docs/tools.md: every server and tool with its grant and tier, from the registration that the
// gateway reads. With `--check` it only says whether the page is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './local-state.mjs'
import { code, table } from './markdown-table.mjs'

/**
 * What the page tells of a server.
 *
 * @typedef {{
 *   name: string
 *   description: string
 *   isForHosted?: boolean
 *   services?: object
 *   tools: { name: string, grantShape: string, shapes: { tier: string }[], isIdempotent: boolean, isForOutside: boolean, description: string }[]
 * }} ServerFacts
 */

const page = join(root, 'docs/tools.md')

const text = writePage(await readServers())
if (!process.argv.includes('--check')) {
  writeFileSync(page, text)
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/tools.md is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}

/** @param {ServerFacts[]} servers */
function writePage(servers) {
  return `${[
    '# Tools',
    'Written by `npm run write-reference` from `src/mcp-servers/servers.ts`. Agents may call a tool when their definition asks for its grant and the policy allows it; the same tools are at `/mcp/<server>` for callers from outside. On a hub, `/tools` says who may use which. A `*` in a grant stands for what the arguments name. How to add a server: [extending.md](extending.md).',
    ...servers.flatMap((server) => [
      `## ${server.name}`,
      [server.description, ...sayWho(server)].join(' '),
      table(
        ['tool', 'grant', 'tier', 'again after a lost answer', 'what it does'],
        server.tools.map((tool) => [
          code(`${server.name}_${tool.name}`),
          code(tool.grantShape),
          [...new Set(tool.shapes.map(({ tier }) => tier))].join(' or '),
          tool.isIdempotent ? 'harmless' : 'not',
          tool.isForOutside ? `${tool.description} Not for agents of this hub.` : tool.description,
        ]),
      ),
    ]),
  ].join('\n\n')}\n`
}

/** @param {ServerFacts} server */
function sayWho({ isForHosted, services }) {
  return [
    ...(isForHosted ? ['Only for agents that this hub runs.'] : []),
    ...(services ? ['It reaches services outside: see [credentials.md](credentials.md).'] : []),
  ]
}

/** @returns {Promise<ServerFacts[]>} */
async function readServers() {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/mcp-servers/servers.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    external: ['cloudflare:*'],
  })
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  return (await import(`data:text/javascript;base64,${source}`)).servers
}
