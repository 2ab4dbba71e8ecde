import type { FC } from 'hono/jsx'
import type { ProviderView } from '../../hub/models/models-view'
import { RelativeTime } from '../parts/relative-time'
import { AgentNames } from './agent-names'
import { DeleteForm, KeyForm, ListForm, SettingsForm, TestForm } from './provider-forms'
import type { ProviderBlockProps } from './provider-props'
import { TestResult } from './test-result'

/** A model provider: what is set, who uses it, and the forms to change and to test it. */
export const ProviderBlock: FC<ProviderBlockProps> = (props) => {
  const { state, stored, test } = props
  const isOfEnvironment = state.source === 'environment'
  return (
    <section class="block" id={state.provider} aria-labelledby={`${state.provider}-title`}>
      <h2 id={`${state.provider}-title`}>{toTitle(state)}</h2>
      <dl class="def">
        <dt>State</dt>
        <dd>
          <State {...props} />
        </dd>
        <dt>Base URL</dt>
        <dd>
          {state.baseUrl === null ? (
            <span class="meta">not set</span>
          ) : (
            <code>{state.baseUrl}</code>
          )}
        </dd>
        <dt>Default model</dt>
        <dd>
          {state.defaultModel === null ? (
            <span class="meta">not set</span>
          ) : (
            <code>{state.defaultModel}</code>
          )}
        </dd>
        <dt>Used by</dt>
        <dd>
          {state.users.length === 0 ? (
            <span class="meta">no agent</span>
          ) : (
            <AgentNames names={state.users.map(({ name }) => name)} />
          )}
        </dd>
      </dl>
      {test && <TestResult of={test} />}
      <div class="up3">
        {state.isReady && <TestForm state={state} isOpen={test !== null} />}
        {!isOfEnvironment && <KeyForm {...props} />}
        <SettingsForm {...props} />
        {stored && !isOfEnvironment && <ListForm {...props} />}
        {stored && <DeleteForm state={state} />}
      </div>
    </section>
  )
}

const toTitle = ({ provider, title }: ProviderView): string =>
  provider === 'openai-compatible' ? 'OpenAI-compatible server' : title

const State: FC<ProviderBlockProps> = ({ now, state, stored }) => {
  if (state.source === 'environment') {
    return (
      <>
        set by the environment <span class="meta">{state.keySetting}</span>
      </>
    )
  }
  if (stored?.hasKey) {
    return (
      <>
        {state.isReady ? 'key set' : 'key set, base URL missing'}{' '}
        <span class="meta">
          {stored.keySetBy !== null && `by ${stored.keySetBy} `}
          {stored.keySetAt !== null && <RelativeTime at={stored.keySetAt} now={now} />}
        </span>
      </>
    )
  }
  if (state.isReady) return <>ready, without a key</>
  return <span class="meta">{state.needsKey ? 'key missing' : 'base URL missing'}</span>
}
