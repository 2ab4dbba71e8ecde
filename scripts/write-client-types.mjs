// client/api.ts: the types of every API route and the error codes, from the schemas that validate
// calls. With `--check` it only says whether the file is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { errorCodes } from '../src/shared/errors.ts'
import { root } from './local-state.mjs'

/**
 * A JSON Schema, as far as the API's schemas use it.
 *
 * @typedef {object} Schema
 * @property {string} [$ref]
 * @property {unknown} [const]
 * @property {unknown[]} [enum]
 * @property {Schema[]} [anyOf]
 * @property {Schema[]} [oneOf]
 * @property {Schema[]} [allOf]
 * @property {string | string[]} [type]
 * @property {Schema} [items]
 * @property {Schema[]} [prefixItems]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 * @property {boolean | Schema} [additionalProperties]
 * @property {string} [description]
 */

/**
 * @typedef {object} DescribedRoute
 * @property {string} method
 * @property {string} path
 * @property {string} summary
 * @property {Schema | null} query
 * @property {Schema | null} body
 * @property {boolean} takesImage
 * @property {boolean} takesDelivery
 * @property {Schema} answer
 */

const page = join(root, 'client/api.ts')

const text = writeTypes(await readRoutes())
if (!process.argv.includes('--check')) {
  writeFileSync(page, text)
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('client/api.ts is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}

/** @param {{ routes: DescribedRoute[], schemas: Record<string, Schema> }} api */
function writeTypes({ routes, schemas }) {
  const isRetryable = Object.entries(errorCodes).filter(([, each]) => each.isRetryable)
  return `${[
    '// Written by `npm run write-reference` from the schemas of the API. Do not edit.',
    `export type ErrorCode =\n${Object.keys(errorCodes)
      .map((code) => `  | '${code}'`)
      .join('\n')}`,
    `/** Codes of errors after which the same call may succeed later. */\nexport const retryableCodes: readonly string[] = ${JSON.stringify(isRetryable.map(([code]) => code))}`,
    ...Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${toType(schema)}`),
    `/** Every route of the API: its query, its body, and its answer without \`success\`. */\nexport interface Routes {\n${routes.map(writeRoute).join('\n')}\n}`,
  ].join('\n\n')}\n`
}

/** @param {DescribedRoute} route */
function writeRoute({ method, path, summary, query, body, takesImage, takesDelivery, answer }) {
  const taken = takesImage ? 'Blob' : takesDelivery ? 'unknown' : null
  return [
    `  /** ${summary.replaceAll('*/', '* /')}. */`,
    `  '${method.toUpperCase()} ${path}': {`,
    `    query: ${query ? toType(query, '    ') : 'undefined'}`,
    `    body: ${taken ?? (body ? toType(body, '    ') : 'undefined')}`,
    `    answer: ${toType(answer, '    ')}`,
    '  }',
  ].join('\n')
}

/**
 * @param {Schema} schema
 * @param {string} [indent]
 * @returns {string}
 */
function toType(schema, indent = '') {
  if (schema.$ref) return schema.$ref.replace(/^.*\//, '')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(' | ')
  const parts = schema.anyOf ?? schema.oneOf
  if (parts) return [...new Set(parts.map((each) => toType(each, indent)))].join(' | ')
  if (schema.allOf) return schema.allOf.map((each) => `(${toType(each, indent)})`).join(' & ')
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => toType({ ...schema, type }, indent)).join(' | ')
  }
  return toTypeByName(schema, indent)
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function toTypeByName(schema, indent) {
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return schema.type
    case 'integer':
      return 'number'
    case 'array':
      if (schema.prefixItems) {
        return `[${schema.prefixItems.map((each) => toType(each, indent)).join(', ')}]`
      }
      return `Array<${toType(schema.items ?? {}, indent)}>`
    case 'object':
      return toObjectType(schema, indent)
    default:
      return 'unknown'
  }
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function toObjectType({ properties = {}, required = [], additionalProperties }, indent) {
  const inner = `${indent}  `
  const isOpen = typeof additionalProperties === 'object'
  const rest = isOpen ? toType(additionalProperties, inner) : 'unknown'
  if (Object.keys(properties).length === 0) return `Record<string, ${rest}>`
  const fields = Object.entries(properties).map(([name, each]) => {
    const comment = each.description ? `${inner}/** ${each.description} */\n` : ''
    const mark = required.includes(name) ? '' : '?'
    const undefinable = mark ? ' | undefined' : ''
    return `${comment}${inner}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${mark}: ${toType(each, inner)}${undefinable}`
  })
  if (isOpen) fields.push(`${inner}[name: string]: unknown`)
  return `{\n${fields.join('\n')}\n${indent}}`
}

/** @returns {Promise<{ routes: DescribedRoute[], schemas: Record<string, Schema> }>} */
async function readRoutes() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export { apiRoutes } from './src/hub/app.ts'
        export { adminRoutes } from './src/mcp-servers/admin/admin-routes.ts'
        export { describeForClient } from './src/hub/http/openapi.ts'`,
      resolveDir: root,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    jsx: 'automatic',
    jsxImportSource: 'hono/jsx',
    external: ['cloudflare:*'],
    logLevel: 'error',
  })
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  const { apiRoutes, adminRoutes, describeForClient } = await import(
    `data:text/javascript;base64,${source}`
  )
  return describeForClient([...apiRoutes, ...adminRoutes])
}
