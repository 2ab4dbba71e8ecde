import { expect, test } from 'vitest'
import * as z from 'zod'
import { listDetails } from '../../src/hub/http/errors'
import { serviceErrors, serviceProblems } from '../../src/mcp-servers/services/check-service'
import { AppError } from '../../src/shared/errors'
import { Checkbox, ErrorSummary, Field } from '../../src/web/form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  invalidText,
  readFormWith,
  rejectForm,
  toProblem,
} from '../../src/web/form/form-state'
import { settingsLabels } from '../../src/web/models/model-forms'

const schema = z
  .object({
    title: z.string().trim().min(1).max(9),
    limit_cents: z.number().int().optional(),
    tags: z.array(z.string().regex(/^\w+$/, 'must be one word')).optional(),
    secret: z.string().optional(),
  })
  .superRefine(({ title }, check) => {
    if (title === 'taken') check.addIssue({ code: 'custom', path: ['title'], message: 'is taken' })
  })

type Name = 'title' | 'dollars' | 'tags' | 'secret' | 'next'

const definition: FormDefinition<Name> = {
  rejected: 'The thing was not saved.',
  fields: {
    title: {},
    dollars: {
      path: 'limit_cents',
      parse: (text) => (text === '' ? undefined : /^\d+$/.test(text) ? +text * 100 : invalidText),
      message: 'Enter whole dollars.',
    },
    tags: { parse: (text) => text.split('\n').filter((line) => line !== '') },
    secret: { isSecret: true },
    next: { path: null },
  },
}

const submit = (typed: Partial<Record<Name, string>>, form = definition) =>
  readFormWith(schema, (name) => typed[name as Name] ?? '', form)

test('forms: a valid form becomes the value of the schema of the API', () => {
  const read = submit({ title: ' Hi ', dollars: '3', tags: 'a\nb', next: '/x' })
  expect(read).toMatchObject({
    isValid: true,
    value: { title: 'Hi', limit_cents: 300, tags: ['a', 'b'], secret: '' },
  })
  expect(Object.keys(read.isValid ? read.value : {})).not.toContain('next')
})

test('forms: all invalid fields have their errors, in the order of the form, and keep their text', () => {
  const { isValid, form } = submit({ tags: 'a\nb c', dollars: '1.5', title: 'taken', secret: 's' })
  expect(isValid).toBe(false)
  expect(Object.entries(form.errors)).toEqual([
    ['title', 'Is taken.'],
    ['dollars', 'Enter whole dollars.'],
    ['tags', 'Must be one word.'],
  ])
  expect(form.typed).toMatchObject({ title: 'taken', dollars: '1.5', tags: 'a\nb c' })
  expect(form.problem).toEqual({
    message: 'The thing was not saved.',
    hint: 'Correct the marked fields below.',
  })
})

test('forms: fields are checked against each other although another one can not be converted', () => {
  const { form } = submit({ title: 'taken', dollars: 'x' })
  expect(form.errors).toEqual({ title: 'Is taken.', dollars: 'Enter whole dollars.' })
})

test('forms: a secret is parsed and never shown again', () => {
  const read = submit({ title: 'x', secret: 'pass' })
  expect(read.isValid && read.value.secret).toBe('pass')
  expect(read.form.typed.secret).toBe('')
  const field = Field({
    form: createForm({ key: 'pass' }),
    name: 'key',
    label: 'Key',
    type: 'password',
  })
  expect(String(field)).not.toContain('pass"')
})

test('forms: an error of no field and an error that the schema can not find are shown', () => {
  const strict = { ...definition, check: () => ({ secret: 'Choose another one.' }) }
  expect(submit({ title: 'x' }, strict).form.errors).toEqual({ secret: 'Choose another one.' })
  const whole = z.object({}).refine(() => false, 'Set at least one field')
  const { form } = readFormWith(whole, () => '', { rejected: 'Not saved.', fields: { a: {} } })
  expect(form.problem).toEqual({ message: 'Not saved.', hint: 'Set at least one field.' })
})

test('forms: the error of an action is shown at the fields that it names, else above the form', () => {
  const { form } = submit({ title: 'x', dollars: '1' })
  const details = [{ path: 'body.limit_cents', message: 'is more than you have' }]
  const error = new AppError('VALIDATION', 'Not saved.', { details })
  expect(rejectForm(definition, form, error)).toMatchObject({
    status: 400,
    form: {
      typed: { title: 'x', dollars: '1' },
      errors: { dollars: 'Is more than you have.' },
      problem: { message: 'Not saved.', hint: 'Correct the marked field below.' },
    },
  })
  const closed = new AppError('FORBIDDEN', 'The thread is locked.', { hint: 'Open another one.' })
  expect(rejectForm(definition, form, closed)).toMatchObject({
    status: 403,
    form: { errors: {}, problem: { message: 'The thread is locked.', hint: 'Open another one.' } },
  })
})

test('forms: the message of a text names what is wrong with it', () => {
  const message = describeText('The reply', 2000)
  expect([message('  '), message('x')]).toEqual([
    'The reply must not be empty.',
    'The reply can have at most 2,000 characters.',
  ])
})

test.each([
  [z.string().min(1), '', 'Must not be empty'],
  [z.string().min(2), 'x', 'Must have at least 2 characters'],
  [z.string().max(2_000), 'x'.repeat(2_001), 'Must have at most 2,000 characters'],
  [z.array(z.string()).min(1), [], 'Must not be empty'],
  [z.array(z.string()).max(1), ['a', 'b'], 'Must have at most 1 entry'],
  [z.number().min(1), 0, 'Must be at least 1'],
  [z.number().positive(), 0, 'Must be more than 0'],
  [z.number().max(90), 91, 'Must be at most 90'],
  [z.enum(['read', 'write']), 'x', 'Must be one of read, write'],
  [z.string().min(1, 'Enter a name'), '', 'Enter a name'],
])(
  'forms: an issue is a sentence for people, of a schema without a message of its own',
  (of, value, message) => {
    const schema = z.object({ a: of as z.ZodType })
    expect(listDetails(schema.safeParse({ a: value }).error ?? new z.ZodError([]), '')).toEqual([
      { path: 'a', message },
    ])
  },
)

const invalid = {
  ...createForm({ title: '<b>', kind: 'b' }),
  errors: { title: 'Enter a <title>.' },
}

test('forms: an invalid field is marked, described by its error and then its hint, and has the focus', () => {
  const html = String(Field({ form: invalid, name: 'title', label: 'Title', hint: 'A noun.' }))
  expect(html).toContain('<label for="title">Title</label>')
  expect(html).toContain('aria-describedby="title-wrong title-note"')
  expect(html).toContain('aria-invalid="true"')
  expect(html).toContain(' autofocus')
  expect(html).toContain('value="&lt;b&gt;"')
  expect(html).toContain('<p class="bad" id="title-wrong">Enter a &lt;title&gt;.</p>')
  expect(html).toContain('<p class="meta" id="title-note">A noun.</p>')
})

test('forms: a note elsewhere on the page describes a field, after its error and its hint', () => {
  const field = (errors: { title?: string }, hint?: string) =>
    String(
      Field({
        form: { ...createForm({ title: '' }), errors },
        name: 'title',
        label: 'Title',
        describedBy: 'note',
        ...(hint && { hint }),
      }),
    )
  expect(field({})).toContain('aria-describedby="note"')
  expect(field({ title: 'Too long.' }, 'Short.')).toContain(
    'aria-describedby="title-wrong title-note note"',
  )
})

test('forms: a valid field has neither mark nor focus, whatever control it has', () => {
  const kind = { form: invalid, name: 'kind', label: 'Kind', autofocus: true } as const
  for (const field of [
    Field({ ...kind, as: 'select', options: { a: 'A', b: 'B' } }),
    Field({ ...kind, as: 'textarea', rows: 3 }),
    Field(kind),
  ]) {
    expect(String(field)).not.toMatch(/aria-|autofocus|class="bad"/)
    expect(String(field)).toContain('<label for="kind">')
  }
  const options = { a: 'A', b: 'B' }
  const select = String(Field({ ...kind, as: 'select', options, id: 'its-kind', isBare: true }))
  expect(select).toMatch(/^<label for="its-kind">/)
  expect(select).toMatch(/<select[^>]* id="its-kind"/)
  expect(select).toMatch(/<option value="a">A<\/option><option value="b" selected/)
  expect(String(Field({ ...kind, as: 'textarea' }))).toContain('>b</textarea>')
})

test('forms: the error summary is announced, and absent without an error', () => {
  const html = String(ErrorSummary({ problem: { message: 'Not saved.', hint: null } }))
  expect(html).toBe('<div class="wrong" role="alert"><strong>Not saved.</strong></div>')
  expect(ErrorSummary({ problem: null })).toBeNull()
})

test('forms: a checkbox keeps its state and has its error', () => {
  const on = createForm({ allows_critical: 'on' })
  const box = '<input type="checkbox" name="allows_critical"'
  const html = String(Checkbox({ form: on, name: 'allows_critical', label: 'Allow it' }))
  expect(html).toContain(`${box} checked=""/>Allow it</label>`)
  const off = { ...createForm({ allows_critical: '' }), errors: { allows_critical: 'Not here.' } }
  const rejected = String(Checkbox({ form: off, name: 'allows_critical', label: 'Allow it' }))
  expect(rejected).toContain(`${box} aria-describedby="allows_critical-wrong" aria-invalid="true"`)
  expect(rejected).toContain('<p class="bad" id="allows_critical-wrong">Not here.</p>')
})

test('forms: an error names a field as the page does, and the API as its schema does', () => {
  const error = serviceErrors.invalid([
    { path: 'body.allow_private', message: serviceProblems.privateNotAllowed },
  ])
  const { hint } = toProblem(error, settingsLabels)
  expect(hint).toMatch(/^The server has a private address: Private addresses are off on this hub/)
  expect(hint).not.toContain('allow_private')
  expect(error.details?.map(({ path }) => path)).toEqual(['body.allow_private'])
})
