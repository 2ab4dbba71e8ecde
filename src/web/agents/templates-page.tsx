import type { FC } from 'hono/jsx'
import type { DefinitionTemplate } from '../../agents/contract/agents'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { newAgentPath } from './agent-paths'

/** Asks for a name and a template of a new agent. */
export const TemplatesPage: FC<{ frame: Frame; templates: readonly DefinitionTemplate[] }> = (
  props,
) => (
  <Layout frame={props.frame} title="New agent" place="agents" sheet="admin">
    <h1>New agent</h1>
    <p class="lede">Choose what it starts from. You can change everything before it is created.</p>
    <form class="form up4" action={newAgentPath}>
      <Field
        form={createForm({ name: '' })}
        name="name"
        label="Name"
        maxlength={32}
        autocomplete="off"
        autocapitalize="none"
        hint="People mention it with @ and this name: a-z, 0-9 and -. Empty: the name of the template."
      />
      <fieldset>
        <legend>Template</legend>
        {props.templates.map(({ name, title, summary }, index) => (
          <label class="check up2">
            <input type="radio" name="template" value={name} checked={index === 0} />
            <span>
              <b>{title}</b>
              <br />
              <span class="meta">{summary}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="acts">
        <button type="submit" class="btn go">
          Continue
        </button>
        <a class="ul" href="/agents">
          Cancel
        </a>
      </div>
    </form>
  </Layout>
)
