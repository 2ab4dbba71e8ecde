// docs/agent-config.md and src/agents/definitions/config.schema.json: the fields of an agent's config.yaml for people
// and for editors, written from the zod schema and from the notes beside it. With `--check` it only says whether the
// page is up to date; a test says it of the schema.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './local-state.mjs'
import { code, table } from './markdown-table.mjs'

const folder = join(root, 'src/agents/definitions')
const page = join(root, 'docs/agent-config.md')

/** @type {typeof import('../src/agents/definitions/config-reference.ts')} */
const { createConfigReference } = await load('config-reference.ts')
const text = writePage(createConfigReference())
if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    console.error('docs/agent-config.md is not up to date: run `npm run write-reference`.')
    process.exitCode = 1
  }
} else {
  writeFileSync(page, text)
  await writeSchema()
}

/** @param {string} name of a file of definitions */
async function load(name) {
  const { outputFiles } = await build({
    entryPoints: [join(folder, name)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  return import(`data:text/javascript;base64,${source}`)
}

async function writeSchema() {
  /** @type {typeof import('../src/agents/definitions/config-schema.ts')} */
  const { createConfigJsonSchema } = await load('config-schema.ts')
  const file = join(folder, 'config.schema.json')
  writeFileSync(file, JSON.stringify(createConfigJsonSchema(), null, 2))
  execFileSync(process.execPath, [
    join(root, 'node_modules/@biomejs/biome/bin/biome'),
    'format',
    '--write',
    file,
  ])
}

/** @param {import('../src/agents/definitions/config-reference.ts').ConfigReference} reference */
function writePage({ parts, templateFields, examples }) {
  return `${[
    '# Fields of an agent',
    'Written by `npm run write-reference` from `src/agents/definitions/config-schema.ts` and `field-notes.ts`. An agent is a folder with `config.yaml`, `system-prompt.md` and skills: [agents.md](agents.md). You can fill in the most common fields on the page of the agent, with **Edit**. Fields that this hub does not know are kept and have no effect; a warning names the field that you may mean.',
    ...parts.flatMap(({ name, fields }) => [
      name === '' ? '## Fields of their own' : `## ${name}`,
      table(
        ['field', 'type', 'default', 'unit', 'example', 'what it does'],
        fields.map((field) => [
          code(field.name),
          field.type,
          field.default,
          field.unit,
          code(field.example),
          field.what,
        ]),
      ),
    ]),
    '## In system-prompt.md',
    `These are filled in: ${templateFields.map((name) => code(`{{${name}}}`)).join(', ')}. An empty field becomes an empty text.`,
    '## Examples',
    'The templates of **New agent**.',
    ...examples.flatMap(({ title, summary, config }) => [
      `### ${title}`,
      summary,
      `\`\`\`yaml\n${config.trim()}\n\`\`\``,
    ]),
  ].join('\n\n')}\n`
}
