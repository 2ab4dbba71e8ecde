import type { FC } from 'hono/jsx'
import type {
  AgentForm,
  AgentFormApi,
  AnswerField,
  DefinitionFiles,
  ModelApi,
} from '../../agents/contract/agents'
import type { CatalogServer, ModelConnection } from '../../hub/contract/hub'
import type { ErrorDetail } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import { accountPath } from '../../shared/paths'
import { Checkbox, Field } from '../form/fields'
import {
  createForm,
  describeDollars,
  type FieldErrors,
  type FormProblem,
  type FormState,
  formatDollars,
  formatMarkedHint,
  invalidText,
  isChecked,
  parseDollars,
  toCheckboxText,
  toSentence,
} from '../form/form-state'
import { schedulesPath } from './agent-paths'
import { GateFields, gateTexts, readGate, toGateTexts } from './gate-fields'

export interface AgentFieldsProps {
  /** Null for a new agent, whose name can be chosen. */
  name: string | null
  form: FormState<string>
  /** What the files say now. */
  agent: AgentForm
  /** Labels by `provider/model`, the first one for whichever the hub has. */
  models: readonly (readonly [string, string])[]
  tools: ToolChoices
  /** What can run an agent. */
  programs: readonly string[]
  /** Names of its sets of recorded runs. */
  sets: readonly string[]
}

/** The fields of an agent that most agents need, in words. */
export const AgentFields: FC<AgentFieldsProps> = (props) => (
  <>
    <Words {...props} />
    <Money {...props} />
    <Program {...props} />
    <Tools {...props} />
    <OwnWork {...props} />
    <WhoMayAsk {...props} />
    <GateFields {...props} />
  </>
)

const Words: FC<AgentFieldsProps> = ({ name, form }) => (
  <section class="block" aria-label="Who it is">
    <h2>Who it is</h2>
    <div class="form wide up2">
      <fieldset>
        <legend class="vh">Names</legend>
        {name === null && (
          <Field
            form={form}
            name="name"
            label="Name"
            required
            maxlength={32}
            autocomplete="off"
            autocapitalize="none"
            hint="People mention it with @ and this name: a-z, 0-9 and -."
          />
        )}
        <Field
          form={form}
          name="display_name"
          label="Display name"
          maxlength={60}
          autocomplete="off"
          hint="Shown beside the name. Empty: the name."
        />
      </fieldset>
      <Field
        form={form}
        name="description"
        label="In a sentence"
        maxlength={500}
        autocomplete="off"
        hint="What people read about it in lists."
      />
      <Field
        form={form}
        as="textarea"
        name={promptFile}
        label="What it does"
        rows={8}
        required
        spellcheck
        hint="Its instructions: who it is, how it works, how it answers. The model reads them before each task. {{name}} and other fields are filled in."
      />
    </div>
  </section>
)

const Money: FC<AgentFieldsProps> = ({ form, models }) => (
  <section class="block" aria-label="Model and money">
    <h2>Model and money</h2>
    <fieldset class="up2">
      <legend class="vh">Model and budget</legend>
      <Field
        form={form}
        as="select"
        name="model"
        label="Model"
        options={models}
        hint={
          <>
            <a href="/models">Models</a> has prices and keys.
          </>
        }
      />
      <Field
        form={form}
        name="budget"
        label="Budget a day (US dollars)"
        inputmode="decimal"
        maxlength={20}
        autocomplete="off"
        hint="Such as 0.50. Empty: no limit of its own; the budgets of the hub apply."
      />
    </fieldset>
  </section>
)

const programTitles: Readonly<Record<string, string>> = {
  native: 'The hub itself',
  'claude-code': 'Claude Code',
  codex: 'Codex',
}

/** What makes it a coding agent; closed for all others. */
const Program: FC<AgentFieldsProps> = ({ form, programs }) => {
  const isUsed = form.typed.program !== 'native' || form.typed.repository !== ''
  return (
    <section class="block" aria-label="Coding agent">
      <h2>Coding agent</h2>
      <details class="up2" {...(isUsed ? { open: true } : {})}>
        <summary>Runs as a program that changes code</summary>
        <p class="meta up2">
          Only an admin can set this. It needs a <a href="/runners">runner</a>.
        </p>
        <fieldset class="form wide up2">
          <legend class="vh">Program and repository</legend>
          <Field
            form={form}
            as="select"
            name="program"
            label="Runs in"
            options={programs.map((name) => [name, programTitles[name] ?? name] as const)}
          />
          <Field
            form={form}
            name="repository"
            label="Repository"
            maxlength={200}
            autocomplete="off"
            autocapitalize="none"
            hint="What it works on, as service:owner/name, such as github:octo/parser. Empty: an empty folder."
          />
          <Field
            form={form}
            name="ref"
            label="Branch, tag or commit to start from"
            maxlength={200}
            autocomplete="off"
            autocapitalize="none"
            hint="Empty: the default branch."
          />
        </fieldset>
      </details>
    </section>
  )
}

const Tools: FC<AgentFieldsProps> = ({ form, agent, tools }) => {
  const isUsed = ({ choices }: { choices: ToolChoice[] }) =>
    choices.some(({ grant }) => agent.grants.includes(grant))
  const main = tools.groups.filter((group) => !group.isRare || isUsed(group))
  const more = tools.groups.filter((group) => !main.includes(group))
  const offered = tools.groups.flatMap(({ choices }) => choices.map(({ grant }) => grant))
  return (
    <section class="block" aria-label="Tools">
      <h2>Tools</h2>
      <p class="meta">What it asks for. The policy of the hub decides what it gets.</p>
      <input type="hidden" name="offered" value={JSON.stringify([...offered, ...tools.others])} />
      {main.map((group) => (
        <ToolGroupFields form={form} {...group} />
      ))}
      {tools.others.length > 0 && (
        <ToolGroupFields
          form={form}
          title="Other grants of this agent"
          note="Patterns, grants of one resource, and grants that no tool needs now."
          choices={tools.others.map((grant) => ({ grant, label: grant, tools: [] }))}
        />
      )}
      {more.length > 0 && (
        <details class="up3">
          <summary>More tools: {more.map(({ title }) => title).join(', ')}</summary>
          {more.map((group) => (
            <ToolGroupFields form={form} {...group} />
          ))}
        </details>
      )}
    </section>
  )
}

const ToolGroupFields: FC<{
  form: FormState<string>
  title: string
  note: string
  choices: ToolChoice[]
}> = ({ form, title, note, choices }) => (
  <fieldset class="up3">
    <legend>
      <b>{title}</b> <span class="meta">{note}</span>
    </legend>
    {choices.map(({ grant, label, tools }) => (
      <Checkbox
        form={form}
        name={grantField(grant)}
        label={
          <span>
            {label}
            {tools.length > 0 && <span class="meta"> {formatTools(tools)}</span>}
          </span>
        }
      />
    ))}
  </fieldset>
)

const toolsShown = 3

const formatTools = (tools: string[]): string =>
  tools.length > toolsShown
    ? `${tools.slice(0, toolsShown).join(', ')} and ${tools.length - toolsShown} more`
    : tools.join(', ')

const OwnWork: FC<AgentFieldsProps> = ({ name, form, agent }) => (
  <section class="block" aria-label="Works on its own">
    <h2>Works on its own</h2>
    <p class="meta">
      It costs money without anybody asking. With both at Never it works only when somebody asks.
    </p>
    <div class="form wide up2">
      <Field
        form={form}
        as="select"
        name="explores"
        label="Explores"
        options={paceOptions}
        hint="It looks at new posts and answers where it helps."
      />
      {agent.scheduleCount > 1 && name !== null && (
        <p class="note">
          It has {agent.scheduleCount} schedules. Change them at{' '}
          <a href={schedulesPath(name)}>its schedules</a>; here you add one.
        </p>
      )}
      <SchedulePicker form={form} />
      <Field
        form={form}
        as="textarea"
        name="schedule_task"
        label="What it does then"
        rows={3}
        maxlength={2000}
        hint="And where to publish. If the run writes in no thread, its final answer goes to the inbox of whoever saved the schedule."
      />
    </div>
  </section>
)

const SchedulePicker: FC<{ form: FormState<string> }> = ({ form }) => (
  <fieldset>
    <legend>
      <b>Schedule</b> <span class="meta">The preview shows the next five times.</span>
    </legend>
    <Field form={form} as="select" name="schedule_every" label="How often" options={everyOptions} />
    <Field
      form={form}
      as="select"
      name="schedule_weekday"
      label="Weekday, if every week"
      options={weekdayOptions}
    />
    <Field
      form={form}
      as="select"
      name="schedule_day"
      label="Day, if every month"
      options={dayOptions}
    />
    <Field form={form} as="select" name="schedule_hour" label="Hour" options={hourOptions} />
    <Field
      form={form}
      as="select"
      name="schedule_minute"
      label="Minute"
      options={minuteOptions(form.typed.schedule_minute ?? '')}
    />
    <Field
      form={form}
      name="schedule_timezone"
      label="Time zone"
      maxlength={60}
      autocomplete="off"
      autocapitalize="none"
      hint="Such as Europe/Berlin."
      {...(form.typed.schedule_every === 'none' && { 'data-is-unset': '' })}
    />
    <Field
      form={form}
      name="schedule_cron"
      label="Cron line, if by a cron line"
      maxlength={100}
      autocomplete="off"
      autocapitalize="none"
      hint="Such as 0 9 * * 1-5."
    />
  </fieldset>
)

const WhoMayAsk: FC<AgentFieldsProps> = ({ name, form }) => (
  <section class="block" aria-label="Who may ask">
    <h2>Who may ask</h2>
    <p class="meta">
      Everybody who reads the place where it is asked. It does for them only what their own role
      allows{name !== null && <WhoPays name={name} />}.
    </p>
    <fieldset class="up2">
      <legend class="vh">What it answers</legend>
      {(Object.entries(answerLabels) as [AnswerField, string][]).map(([field, label]) => (
        <Checkbox form={form} name={answerField(field)} label={label} />
      ))}
    </fieldset>
  </section>
)

const WhoPays: FC<{ name: string }> = ({ name }) => (
  <>
    ; <a href={accountPath(name)}>its page</a> says what it cost
  </>
)

const answerLabels: Record<AnswerField, string> = {
  mentions: 'Whoever mentions it with @',
  replies: 'Whoever replies to its comments',
  followUps: 'Whoever goes on in a thread that it answered in, without naming it',
  dms: 'Whoever sends it a direct message',
}
const answerFields = Object.keys(answerLabels) as AnswerField[]

const paceOptions = [
  ['never', 'Never'],
  ['staleness', 'In turns, the quietest first'],
  ['hourly', 'Every hour'],
  ['daily', 'Every day'],
] as const

const timeFields = ['every', 'weekday', 'day', 'hour', 'minute', 'cron'] as const

/** Returns the name of the checkbox of a grant. */
const grantField = (grant: string): string => `grant ${grant}`
const answerField = (name: AnswerField): string => `answers_${name}`

/** Returns the texts of the fields of a definition's form. */
function toAgentFields(form: AgentForm, prompt: string): Record<string, string> {
  const { schedule } = form
  const time = toPickedTime(schedule?.cron ?? null)
  return {
    name: form.name,
    display_name: form.displayName,
    description: form.description,
    [promptFile]: prompt,
    model: form.model,
    budget: formatDollars(form.costPerDayMicrousd),
    explores: form.exploration ?? 'never',
    program: form.program,
    repository: form.repository,
    ref: form.ref,
    ...toGateTexts(form.trial),
    ...Object.fromEntries(timeFields.map((field) => [`schedule_${field}`, time[field]])),
    schedule_timezone: schedule?.timezone ?? 'UTC',
    schedule_task: schedule?.task ?? '',
    ...Object.fromEntries(form.grants.map((grant) => [grantField(grant), toCheckboxText(true)])),
    ...Object.fromEntries(
      answerFields.map((name) => [answerField(name), toCheckboxText(form.answers[name])]),
    ),
    allow: '',
  }
}

/** What was filled in: files with the changes, or errors by field with what was typed. */
export interface FilledForm {
  files: DefinitionFiles
  typed: Record<string, string>
  errors: FieldErrors<string>
}

/**
 * Reads a submitted form and writes what differs into the files that it showed.
 *
 * @param isNew whether the form has the field of the name
 * @returns null when the files have no form
 */
export function fillForm(
  forms: AgentFormApi,
  shown: DefinitionFiles,
  read: (name: string) => string,
  { isNew, offered }: { isNew: boolean; offered: string[] },
): FilledForm | null {
  const before = forms.read(shown)
  if (!before) return null
  const cost = parseDollars(read('budget'))
  const task = read('schedule_task').trim()
  const time = Object.fromEntries(
    timeFields.map((field) => [field, read(`schedule_${field}`)]),
  ) as unknown as PickedTime
  const cron = changeCron(before.schedule?.cron ?? null, time)
  const { gate, errors: gateErrors } = readGate(before.trial, read)
  const after: AgentForm = {
    ...before,
    name: isNew ? read('name').trim() : before.name,
    displayName: read('display_name').trim(),
    description: read('description').trim(),
    model: read('model'),
    grants: changeGrants(before.grants, offered, read),
    costPerDayMicrousd: cost === invalidText ? before.costPerDayMicrousd : cost,
    exploration: toPace(read('explores')),
    program: forms.programs.find((each) => each === read('program')) ?? before.program,
    repository: read('repository').trim(),
    ref: read('ref').trim(),
    trial: gate,
    schedule:
      cron === null ? null : { cron, timezone: read('schedule_timezone').trim() || 'UTC', task },
    answers: Object.fromEntries(
      answerFields.map((name) => [name, isChecked(read(answerField(name)))]),
    ) as AgentForm['answers'],
  }
  const typed = {
    ...toAgentFields(after, read(promptFile)),
    ...Object.fromEntries(timeFields.map((field) => [`schedule_${field}`, time[field]])),
    budget: read('budget'),
    schedule_task: task,
    schedule_timezone: read('schedule_timezone'),
    ...(gate && Object.fromEntries(gateTexts.map((name) => [name, read(name)]))),
    allow: read('allow'),
  }
  const errors = { ...findErrors({ budget: read('budget'), cost, cron, task }), ...gateErrors }
  if (Object.keys(errors).length > 0) return { files: shown, typed, errors }
  const files = forms.write(shown, keepUntouched(before, after))
  return { files, typed, errors }
}

const findErrors = ({
  budget,
  cost,
  cron,
  task,
}: {
  budget: string
  cost: unknown
  cron: string | null
  task: string
}) => ({
  ...(cost === invalidText && {
    budget: describeDollars(budget, 'Enter dollars, such as 0.50, or nothing for no limit.'),
  }),
  ...(cron === '' && {
    schedule_cron: 'Enter five fields, such as 0 9 * * 1-5, or choose how often.',
  }),
  ...(cron !== null && task === '' && { schedule_task: 'Say what the agent does at these times.' }),
})

const toPace = (text: string): AgentForm['exploration'] =>
  text === 'staleness' || text === 'hourly' || text === 'daily' ? text : null

/** Returns a text as it is written when a browser sent it back unchanged: it changes line ends, and inputs have no lines. */
const keepText = (
  before: string | undefined,
  sent: string,
  toSent: (text: string) => string,
): string => (before !== undefined && toSent(before) === toSent(sent) ? before : sent)

const toLine = (text: string): string => text.replace(/[\r\n]+/g, '').trim()
const toArea = (text: string): string => text.replace(/\r\n?/g, '\n').trim()
const toPrompt = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/^\n/, '')

const keepUntouched = (before: AgentForm, after: AgentForm): AgentForm => ({
  ...after,
  name: keepText(before.name, after.name, toLine),
  displayName: keepText(before.displayName, after.displayName, toLine),
  description: keepText(before.description, after.description, toLine),
  repository: keepText(before.repository, after.repository, toLine),
  ref: keepText(before.ref, after.ref, toLine),
  schedule: after.schedule && {
    ...after.schedule,
    timezone: keepText(before.schedule?.timezone, after.schedule.timezone, toLine),
    task: keepText(before.schedule?.task, after.schedule.task, toArea),
  },
})

/** Packs the files of a form, so that a browser sends them back byte by byte; the prompt only where its field would not. */
export function packFiles(files: DefinitionFiles): string {
  const { [promptFile]: prompt = '', ...others } = files
  return JSON.stringify(toPrompt(prompt) === prompt ? others : files)
}

/** Returns the files that a form showed. */
export function unpackFiles(packed: string, prompt: string): DefinitionFiles {
  const files = readRecord(packed)
  return { ...files, [promptFile]: keepText(files[promptFile], prompt, toPrompt) }
}

function readRecord(packed: string): DefinitionFiles {
  try {
    const value: unknown = JSON.parse(packed)
    if (typeof value !== 'object' || value === null) return {}
    return Object.fromEntries(Object.entries(value).map(([path, text]) => [path, String(text)]))
  } catch {
    return {}
  }
}

/** Keeps the order and what was not offered. */
function changeGrants(
  before: string[],
  offered: string[],
  read: (name: string) => string,
): string[] {
  const isKept = (grant: string) => !offered.includes(grant) || isChecked(read(grantField(grant)))
  const added = offered.filter((grant) => !before.includes(grant) && isKept(grant))
  return [...before.filter(isKept), ...added]
}

/** Which field of the form a place in `config.yaml` belongs to. */
const fieldPlaces: readonly [RegExp, string][] = [
  [/^name$/, 'name'],
  [/^display_name$/, 'display_name'],
  [/^description$/, 'description'],
  [/^brain\.(model|provider)$/, 'model'],
  [/^brain\.max_cost_per_day$/, 'budget'],
  [/^type$/, 'program'],
  [/^workspace(?:\.repository)?$/, 'repository'],
  [/^workspace\.ref$/, 'ref'],
  [/^trial\.set$/, 'trial_set'],
  [/^trial\.worse_max$/, 'trial_worse_max'],
  [/^trial\.cost_change_max$/, 'trial_cost_change_max'],
  [/^trial\.repeats$/, 'trial_repeats'],
  [/^behavior\.discovery\b/, 'explores'],
  [/^behavior\.schedule\.\d+\.timezone$/, 'schedule_timezone'],
  [/^behavior\.schedule\.\d+\.task$/, 'schedule_task'],
  [/^behavior\.schedule\b/, 'schedule_cron'],
]

/** Returns the field of the form that a problem is about; null when no field says it. */
export function findField(path: string): string | null {
  const { file, field } = splitPlace(path)
  if (file === promptFile) return promptFile
  return fieldPlaces.find(([pattern]) => pattern.test(field))?.[1] ?? null
}

/** Returns the form of a definition with its problems at the fields that they are about. */
function toAgentFormState(
  typed: Record<string, string>,
  problems: readonly ErrorDetail[],
  state: Pick<FormState<string>, 'errors' | 'problem'>,
): FormState<string> {
  const found = problems.flatMap(({ path, message }) => {
    const name = findField(path)
    return name === null ? [] : [{ name, text: toSentence(message) }]
  })
  const texts = Map.groupBy(found, ({ name }) => name)
  const errors = [...texts].map(([name, of]) => [name, of.map(({ text }) => text).join(' ')])
  return {
    ...createForm(typed),
    ...state,
    errors: { ...Object.fromEntries(errors), ...state.errors },
  }
}

/** Whether a field of a form has an error, so that nothing was written into the files. */
export const hasErrors = (filled: FilledForm | undefined): boolean =>
  filled !== undefined && Object.keys(filled.errors).length > 0

/** Returns what the form shows: what was typed, else what the files say. @param agent null shows files */
export function toFormState(
  files: DefinitionFiles,
  agent: AgentForm | null,
  {
    filled,
    problem,
    problems = [],
  }: { filled?: FilledForm; problem?: FormProblem; problems?: ErrorDetail[] },
): FormState<string> {
  const errors = filled?.errors ?? {}
  if (!agent) return toDefinitionForm(files, problems, problem ?? describeProblems(problems))
  const typed = filled?.typed ?? toAgentFields(agent, files[promptFile] ?? '')
  const form = toAgentFormState(typed, problems, { errors, problem: null })
  const listed = problems.filter(({ path }) => findField(path) === null)
  return { ...form, problem: problem ?? describeProblems(listed) ?? describeErrors(form.errors) }
}

const describeErrors = (errors: FieldErrors<string>): FormProblem | null =>
  Object.keys(errors).length === 0
    ? null
    : { message: 'Nothing has been saved.', hint: formatMarkedHint(errors) }

const describeProblems = (problems: ErrorDetail[]): FormProblem | null =>
  problems.length === 0
    ? null
    : {
        message: 'The definition is not valid.',
        hint: 'Correct the listed lines. Nothing has been saved.',
      }

const configFile = 'config.yaml'
export const promptFile = 'system-prompt.md'

/** A definition as a form submits it. */
export interface SubmittedDefinition {
  files: DefinitionFiles
  /** The version that the author started from; 0 for a new agent. */
  base: number
  /** Grants that the policy of the agent is to allow, too. */
  allowGrants: string[]
}

/** Lists the files of a definition in the order of the page: config, prompt, then skills by name. */
export const listPaths = (files: DefinitionFiles): string[] => [
  configFile,
  promptFile,
  ...Object.keys(files)
    .filter((path) => path !== configFile && path !== promptFile)
    .sort(),
]

/** Reads a submitted definition. A skill without text is left out, which deletes it. */
export function readDefinitionForm(read: (name: string) => string): SubmittedDefinition {
  const paths = readList(read('paths'))
  const files = Object.fromEntries(paths.map((path) => [path, read(path)]))
  const kept = Object.entries(files).filter(
    ([path, text]) => path === configFile || path === promptFile || text.trim() !== '',
  )
  return {
    files: Object.fromEntries(kept),
    base: Number(read('base')) || 0,
    allowGrants: read('allow') === 'on' ? readList(read('allow_grants')) : [],
  }
}

export function readList(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text || '[]')
    return Array.isArray(list) ? list.map(String).slice(0, 100) : []
  } catch {
    return []
  }
}

const folderPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Returns the files with a new skill to fill in, or why its name is not valid. */
export function addSkill(
  files: DefinitionFiles,
  name: string,
): { files: DefinitionFiles } | { error: string } {
  if (!folderPattern.test(name)) {
    return { error: 'Use 1 to 64 letters, digits, - and _, starting with a letter or a digit.' }
  }
  const path = `skills/${name}/SKILL.md`
  if (files[path] !== undefined) return { error: `The skill ${name} exists already.` }
  const text = `---\nname: ${name}\ndescription: When to use it, in a sentence.\n---\nThe steps to follow.\n`
  return { files: { ...files, [path]: text } }
}

/** Returns the form of a definition, with its problems at the files that they are in. */
function toDefinitionForm(
  files: DefinitionFiles,
  problems: readonly ErrorDetail[] = [],
  problem: FormProblem | null = null,
): FormState<string> {
  const byFile = Map.groupBy(problems, ({ path }) => splitPlace(path).file)
  const errors = Object.fromEntries(
    listPaths(files).flatMap((path) => {
      const count = byFile.get(path)?.length ?? 0
      return count === 0
        ? []
        : [[path, `${formatPlural(count, 'problem', 'problems')}, listed above.`]]
    }),
  )
  const typed = Object.fromEntries(listPaths(files).map((path) => [path, files[path] ?? '']))
  return { ...createForm<string>({ ...typed, new_skill: '', allow: '' }), errors, problem }
}

/** A place in a file, of a path such as `config.yaml:3:brain.model`. */
interface Place {
  file: string
  /** Null when the whole file is meant. */
  line: number | null
  field: string
}

export function splitPlace(path: string): Place {
  const [, file = path, line, field = ''] = /^([^:]+):(\d+):(.*)$/.exec(path) ?? []
  return { file, line: line === undefined ? null : Number(line), field }
}

/** A grant that a form offers, in words. */
interface ToolChoice {
  grant: string
  label: string
  /** The tools that need it. */
  tools: string[]
}

interface ToolGroup {
  title: string
  note: string
  choices: ToolChoice[]
  /** Whether few agents need it: built in, and not the hub or the memory. */
  isRare: boolean
}

interface ToolChoices {
  groups: ToolGroup[]
  /** Requested grants that no group offers: patterns, grants of one resource, unknown ones. */
  others: string[]
}

/** What built-in grants allow. Those of other servers are named by their tools. */
const grantWords: Readonly<Record<string, string>> = {
  'hub:read': 'Read the hub: search, posts, threads and profiles',
  'hub:write': 'Write in the hub: posts, comments, votes and messages',
  'memory:read': 'Look up what it noted',
  'memory:write': 'Note facts, plans and open tasks',
  'workspace:read': 'Read its own files',
  'workspace:write': 'Write and delete its own files',
  'results:read': 'Read the rest of long results',
}

const serverTitles: Readonly<Record<string, string>> = {
  hub: 'This hub',
  memory: 'Memory',
  workspace: 'Files of its own',
  results: 'Long results',
}

const rareServers = new Set(['workspace', 'results', 'github', 'brave'])

/** Skills request their grant themselves. */
const unlisted = new Set(['skills'])

/** Groups the grants of the hub's tools by server, and lists what a definition requests besides. */
export function listToolChoices(
  servers: readonly CatalogServer[],
  requested: readonly string[],
): ToolChoices {
  const groups = servers
    .filter(({ name }) => !unlisted.has(name))
    .map(toGroup)
    .filter(({ choices }) => choices.length > 0)
  const offered = new Set(groups.flatMap(({ choices }) => choices.map(({ grant }) => grant)))
  return { groups, others: requested.filter((grant) => !offered.has(grant)) }
}

function toGroup({ name, description, tools }: CatalogServer): ToolGroup {
  const plain = tools.filter(({ grant, isScoped }) => !isScoped && !grant.includes('*'))
  const byGrant = Map.groupBy(plain, ({ grant }) => grant)
  return {
    title: serverTitles[name] ?? name,
    note: description,
    isRare: rareServers.has(name),
    choices: [...byGrant]
      .map(([grant, each]) => ({
        grant,
        label: grantWords[grant] ?? nameGrant(name, grant),
        tools: each.map((tool) => tool.name),
      }))
      // Reading stands before writing.
      .sort((a, b) => a.grant.localeCompare(b.grant)),
  }
}

const actionWords: Readonly<Record<string, string>> = {
  read: 'Read',
  write: 'Write',
  admin: 'Administer',
}

function nameGrant(server: string, grant: string): string {
  const action = grant.slice(server.length + 1)
  return `${actionWords[action] ?? action} (${grant})`
}

/** Models of a provider that the form lists; others are written into the files. */
const modelsPerProvider = 100

/** Returns the models that a definition can name here, by `provider/model`; the first is whichever the hub has. */
export function listModelChoices(
  models: ModelApi,
  connections: readonly ModelConnection[],
  chosen: string,
): [string, string][] {
  const [now = ''] = models.listAuto(connections)
  const ready = models.listProviders(connections).filter(({ isReady }) => isReady)
  const named = ready.flatMap(({ provider, defaultModel }) => {
    const listed = connections.find((each) => each.provider === provider)?.listed ?? []
    const all = [...(defaultModel === null ? [] : [defaultModel]), ...listed]
    return [...new Set(all)].slice(0, modelsPerProvider).map((model) => `${provider}/${model}`)
  })
  const others = [...new Set([...named, offlineModel])]
  const isListed = chosen === '' || others.includes(chosen)
  return [
    ['', now === '' ? 'Whatever the hub has' : `The hub’s: ${now}`],
    ...(isListed ? [] : [[chosen, `${chosen} (from the files)`] as [string, string]]),
    ...others.map((name): [string, string] => [name, modelLabels[name] ?? name]),
  ]
}

const offlineModel = 'offline/extractive'
const modelLabels: Readonly<Record<string, string>> = {
  [offlineModel]: 'Offline model, free',
}

/** Times as the selects of a form say them; each has a cron expression. */
interface PickedTime {
  every: string
  /** 0 is Sunday. */
  weekday: string
  day: string
  hour: string
  minute: string
  /** The expression of `every: cron`. */
  cron: string
}

const everyOptions = [
  ['none', 'Never'],
  ['hour', 'Every hour'],
  ['day', 'Every day'],
  ['weekdays', 'Monday to Friday'],
  ['week', 'Every week'],
  ['month', 'Every month'],
  ['cron', 'By a cron line'],
] as const

const weekdayOptions = [
  ['1', 'Monday'],
  ['2', 'Tuesday'],
  ['3', 'Wednesday'],
  ['4', 'Thursday'],
  ['5', 'Friday'],
  ['6', 'Saturday'],
  ['0', 'Sunday'],
] as const

const countUp = (from: number, to: number, step = 1): string[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) =>
    String(from + index * step),
  )

const toOption = (value: string): [string, string] => [value, value.padStart(2, '0')]

const dayOptions = countUp(1, 31).map((day): [string, string] => [day, day])
const hourOptions = countUp(0, 23).map(toOption)

/** Returns the minutes in steps of five, with another one that was chosen elsewhere. */
const minuteOptions = (chosen: string): [string, string][] =>
  [
    ...new Set([
      ...countUp(0, 55, 5),
      ...(/^\d{1,2}$/.test(chosen) ? [String(Number(chosen))] : []),
    ]),
  ]
    .sort((a, b) => Number(a) - Number(b))
    .map(toOption)

const usual = { weekday: '1', day: '1', hour: '9', minute: '0', cron: '' }

const nicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
}

/** How each choice is written; the groups are the parts of a time. */
const shapes: readonly [every: string, pattern: RegExp][] = [
  ['hour', /^(?<minute>\d{1,2}) \* \* \* \*$/],
  ['day', /^(?<minute>\d{1,2}) (?<hour>\d{1,2}) \* \* \*$/],
  ['weekdays', /^(?<minute>\d{1,2}) (?<hour>\d{1,2}) \* \* 1-5$/],
  ['week', /^(?<minute>\d{1,2}) (?<hour>\d{1,2}) \* \* (?<weekday>[0-6])$/],
  ['month', /^(?<minute>\d{1,2}) (?<hour>\d{1,2}) (?<day>\d{1,2}) \* \*$/],
]

/** Returns what the selects show of a cron expression; null shows no schedule. */
export function toPickedTime(cron: string | null): PickedTime {
  if (cron === null) return { ...usual, every: 'none' }
  const written = nicknames[cron.trim()] ?? cron.trim()
  for (const [every, pattern] of shapes) {
    const found = pattern.exec(written)?.groups
    if (!found) continue
    const numbers = Object.entries(found).map(([name, text]) => [name, String(Number(text))])
    return { ...usual, ...Object.fromEntries(numbers), every }
  }
  return { ...usual, every: 'cron', cron }
}

/** Returns the cron expression of what was chosen; null: no schedule. */
export function toCron({ every, weekday, day, hour, minute, cron }: PickedTime): string | null {
  if (every === 'hour') return `${minute} * * * *`
  if (every === 'day') return `${minute} ${hour} * * *`
  if (every === 'weekdays') return `${minute} ${hour} * * 1-5`
  if (every === 'week') return `${minute} ${hour} * * ${weekday}`
  if (every === 'month') return `${minute} ${hour} ${day} * *`
  return every === 'cron' ? cron.trim() : null
}

/** Returns the expression of a choice; the one before when the choice did not change, as it was written. */
export function changeCron(before: string | null, picked: PickedTime): string | null {
  const chosen = toCron(picked)
  return chosen === toCron(toPickedTime(before)) ? before : chosen
}
