//! Addresses with profiles of multi-storage-client: the supported settings of its files, and folders of this machine.

use super::cli_support::Sandbox;

#[test]
fn a_profile_with_a_folder_is_read_and_written_like_the_folder() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/set/a.tar", ["1", "2", "3"]);
    let folder = sandbox.path("data").to_string_lossy().into_owned();
    let profile = format!("    storage_provider: {{type: file, options: {{base_path: '{folder}'}}}}\n");
    sandbox.write(
        "../home/.msc_config.yaml",
        format!("profiles:\n  local:\n{profile}  wrong:\n    storage_provider: {{type: oci, options: {{}}}}\n"),
    );
    let run = |words: &[&str]| sandbox.run(words);
    run(&["prepare", "msc://local/set", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", "--yes"]).ends(0);
    assert!(sandbox.has("data/set/.nv-meta/index.sqlite"));
    run(&["info", "msc://local/set"]).ends(0).says(&format!("path: {folder}/set")).says("samples: 3");
    run(&["info", "msc://wrong/set"]).ends(2).complains("the storage oci, which is not supported");
    run(&["info", "msc://loca/set"]).ends(2).complains("there is no profile loca in").complains("one named local");
    run(&["info", "msc://"]).ends(0).says("msc://wrong");
}

#[test]
fn remotes_of_rclone_are_listed_and_unsupported_types_are_named() {
    let sandbox = Sandbox::new();
    let info = |address: &str| sandbox.run(["info", address]);
    info("msc://").ends(2).complains("there is no file with profiles");
    sandbox.write("../home/.config/rclone/rclone.conf", "[gd]\ntype = drive\n");
    info("msc://").ends(2).complains("there are no profiles of stores in").complains("rclone.conf");
    sandbox.write("../home/.config/rclone/rclone.conf", "[gd]\ntype = drive\n[store]\ntype = s3\n");
    let ran = info("msc://").ends(0).says("msc://store");
    assert!(!ran.out.contains("gd"), "{}", ran.out);
    info("msc://gd/set").ends(2).complains("the remote gd of rclone is of the type drive, which is not supported");
    info("msc://store").ends(2).complains("it has no bucket").complains("msc://store/BUCKET/KEY");
}

#[test]
fn a_file_of_profiles_that_cannot_be_read_is_reported_once() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1"]);
    sandbox.write("../home/.msc_config.yaml", "profiles: [");
    let folder = sandbox.path("data").to_string_lossy().into_owned();
    let ran = sandbox.run(["browse", &folder]).ends(0).complains(".msc_config.yaml");
    assert_eq!(ran.err.matches("so no path is mapped to a store").count(), 1, "{}", ran.err);
}
