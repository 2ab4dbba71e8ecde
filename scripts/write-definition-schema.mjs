// src/agents/definitions/config.schema.json: what editors check an agent's config.yaml with,
// written from the zod schema. A test says when it is not up to date.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './local-state.mjs'

const folder = join(root, 'src/agents/definitions')
const { outputFiles } = await build({
  entryPoints: [join(folder, 'config-schema.ts')],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
})
const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
/** @type {typeof import('../src/agents/definitions/config-schema.ts')} */
const { createConfigJsonSchema } = await import(`data:text/javascript;base64,${source}`)
const file = join(folder, 'config.schema.json')
writeFileSync(file, JSON.stringify(createConfigJsonSchema(), null, 2))
execFileSync(process.execPath, [
  join(root, 'node_modules/@biomejs/biome/bin/biome'),
  'format',
  '--write',
  file,
])
