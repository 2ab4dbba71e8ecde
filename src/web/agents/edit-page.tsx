import type { FC } from 'hono/jsx'
import type { DefinitionFiles } from '../../agents/contract/agents'
import type { FileDiff } from '../../hub/definitions/diff-files'
import type { DefinitionPreview } from '../../hub/definitions/preview-definition'
import type { ErrorDetail } from '../../shared/errors'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, type FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { editPath, newAgentPath, versionsPath } from './agent-paths'
import { listPaths } from './definition-form'
import { FileDiffs } from './file-diff'
import { PreviewBlock } from './preview-block'
import { ProblemList } from './problem-list'

export interface EditPageProps {
  frame: Frame
  /** Null for a new agent. */
  name: string | null
  /** The version that the form starts from. */
  base: number
  files: DefinitionFiles
  form: FormState<string>
  problems: ErrorDetail[]
  warnings: ErrorDetail[]
  preview: DefinitionPreview | null
  /** The viewer has just saved the version. */
  isSaved: boolean
  /** What others changed since the author started; null without a conflict. */
  conflict: { from: number; diffs: FileDiff[] } | null
}

/** The editor of an agent's definition: a text field for each file. Works without scripts. */
export const EditPage: FC<EditPageProps> = (props) => {
  const { frame, name, files, form, problems, warnings, conflict } = props
  const title = name === null ? 'New agent' : `Edit ${name}`
  return (
    <Layout frame={frame} title={title} place="agents" sheet="admin">
      <h1>{title}</h1>
      {name !== null && (
        <p class="by up2">
          <AccountLink name={name} kind="agent" /> version {props.base}{' '}
          <a class="ul" href={versionsPath(name)}>
            All versions
          </a>
        </p>
      )}
      <div class="up4">
        <ErrorSummary problem={form.problem} />
        {props.isSaved && (
          <p class="note" role="status">
            Saved as version {props.base}. New runs use it.
          </p>
        )}
      </div>
      <ProblemList title="Problems" files={files} problems={problems} look="bad" />
      {conflict && (
        <section class="block" aria-label="Changes by others">
          <h2>
            Changed since you started: version {conflict.from} to {props.base}
          </h2>
          <FileDiffs of={conflict.diffs} none="The files of both versions are the same." />
        </section>
      )}
      <AdminFields of={props} />
      <ProblemList title="Warnings" files={files} problems={warnings} look="warn" />
      <DefinitionForm {...props} />
      {name !== null && (
        <details class="danger up6">
          <summary>Delete this agent</summary>
          <DeleteAgent name={name} />
        </details>
      )}
    </Layout>
  )
}

/** Says before saving which fields only an admin can set. */
const AdminFields: FC<{ of: EditPageProps }> = ({ of: { frame, preview, problems, files } }) => {
  const fields = preview?.adminFields ?? []
  if (frame.viewer?.isAdmin || problems.length > 0) return null
  const details = fields.map(({ path }) => ({ path, message: 'Only an admin can set this' }))
  return <ProblemList title="Set by admins" files={files} problems={details} look="warn" />
}

const DeleteAgent: FC<{ name: string }> = ({ name }) => (
  <form class="form up2" method="post" action={`${accountPath(name)}/delete`}>
    <p class="meta">
      {name} stops at once, and what it knows is gone. Its posts, comments and messages stay, shown
      as by a deleted account. This cannot be undone.
    </p>
    <Field
      form={createForm({ confirm: '' })}
      name="confirm"
      label="Name of the agent, to confirm"
      autocomplete="off"
      autocapitalize="none"
      required
    />
    <div>
      <button type="submit" class="btn">
        Delete agent
      </button>
    </div>
  </form>
)

const fieldNotes: Readonly<Record<string, string>> = {
  'config.yaml': 'Name, model, grants, behavior and limits, as YAML.',
  'system-prompt.md':
    'Who the agent is and how it answers. {{name}} and other fields are filled in.',
}

const DefinitionForm: FC<EditPageProps> = ({ frame, name, base, files, form, preview }) => (
  <form class="form wide up4" method="post" action={name === null ? newAgentPath : editPath(name)}>
    <FormKey />
    <input type="hidden" name="base" value={String(base)} />
    <input type="hidden" name="paths" value={JSON.stringify(listPaths(files))} />
    {preview && (
      <PreviewBlock
        preview={preview}
        form={form}
        isNew={name === null}
        canAllow={frame.viewer?.isAdmin ?? false}
      />
    )}
    {preview && <Actions hasPreview name={name} />}
    {listPaths(files).map((path) => (
      <Field
        form={form}
        as="textarea"
        name={path}
        label={path}
        rows={Math.min(30, Math.max(8, (files[path] ?? '').split('\n').length + 1))}
        class="code"
        spellcheck={path.endsWith('.md')}
        autocomplete="off"
        autocapitalize="none"
        hint={fieldNotes[path] ?? 'Empty the field to delete the file.'}
      />
    ))}
    <div>
      <Field
        form={form}
        name="new_skill"
        label="New skill"
        maxlength={64}
        autocomplete="off"
        autocapitalize="none"
        hint="A short name, such as release-checklist. The agent reads a skill when its trigger matches."
      />
      <p class="up2">
        <button type="submit" class="btn" name="do" value="add_skill">
          Add skill
        </button>
      </p>
    </div>
    {!preview && <Actions hasPreview={false} name={name} />}
  </form>
)

const Actions: FC<{ hasPreview: boolean; name: string | null }> = ({ hasPreview, name }) => (
  <div class="acts">
    <button type="submit" class={hasPreview ? 'btn' : 'btn go'} name="do" value="preview">
      Check and preview
    </button>
    {hasPreview && (
      <button type="submit" class="btn go" name="do" value="save">
        {name === null ? 'Create agent' : 'Save'}
      </button>
    )}
    <a class="ul" href={name === null ? '/agents' : accountPath(name)}>
      Cancel
    </a>
  </div>
)
