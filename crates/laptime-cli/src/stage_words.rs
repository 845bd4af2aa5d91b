//! What a stage is called where there is room for its name.

use laptime_core::StageId;

use crate::one_line::shown;

/// A stage as it is said in full: `data wait`. Names of users' own stages stay as they are.
pub(crate) fn stage_name(stage: &str) -> String {
    match stage {
        "idle_data" => return "idle: data late".to_owned(),
        "idle_host" => return "idle: host late".to_owned(),
        "idle_sync" => return "idle: after wait".to_owned(),
        _ => {}
    }
    match StageId::built_in(stage) {
        Some(StageId::OTHER) => "other stages".to_owned(),
        Some(StageId::START_UP) => "start-up".to_owned(),
        Some(_) => stage.replace('_', " "),
        None => shown(stage),
    }
}
