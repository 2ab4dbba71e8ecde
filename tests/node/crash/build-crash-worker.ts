import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildWorker } from '../../../scripts/build-worker.mjs'

/** The directory of a bundle like the deployed one, with the look-outs in it. */
export async function buildCrashWorker(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'rookery-crash-'))
  cpSync(await buildWorker(), directory, { recursive: true })
  const result = await build({
    entryPoints: [fileURLToPath(new URL('./crash-worker.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*', 'node:*'],
    loader: { '.css': 'text', '.md': 'text' },
    plugins: [
      {
        name: 'client scripts as text',
        setup: (builder) => {
          builder.onLoad({ filter: /\.client\.js$/ }, async ({ path }) => ({
            contents: await (await import('node:fs/promises')).readFile(path, 'utf8'),
            loader: 'text',
          }))
        },
      },
    ],
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    target: 'es2022',
    logLevel: 'error',
  })
  writeFileSync(join(directory, 'worker', 'worker.js'), result.outputFiles[0]?.text ?? '')
  return directory
}
